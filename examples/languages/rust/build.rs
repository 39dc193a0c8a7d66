// The folder of libsr_c.so, where `meson install` or a build has put it.
fn main() {
    if let Ok(folder) = std::env::var("SR_C_LIB") {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
    println!("cargo:rerun-if-env-changed=SR_C_LIB");
}
