# What must be installed before ./dev can do anything: Debian packages, .venv with LibTorch, and environments of
# their own for what is compared with sr. Sourced by ./dev, which sets root, python, torch_home, say and die.

digest() { sha256sum | cut -c1-16; }

# package:file; the file shows that the package is there, so that no package tool runs when nothing is missing.
packages=(
  g++:/usr/bin/g++
  pkg-config:/usr/bin/pkg-config
  ccache:/usr/bin/ccache
  python3-venv:/usr/share/doc/python3-venv
  python3-dev:/usr/share/doc/python3-dev
  catch2:/usr/include/catch2
  libbenchmark-dev:/usr/include/benchmark/benchmark.h
  libcli11-dev:/usr/include/CLI/CLI.hpp
  nlohmann-json3-dev:/usr/include/nlohmann/json.hpp
  libboost-dev:/usr/include/boost/version.hpp
  libgrpc++-dev:/usr/include/grpcpp/grpcpp.h
  libssl-dev:/usr/include/openssl/ssl.h
  protobuf-compiler:/usr/bin/protoc
  protobuf-compiler-grpc:/usr/bin/grpc_cpp_plugin
)
check_packages=(
  clang-format:/usr/bin/clang-format
  clang-tidy:/usr/bin/clang-tidy
  clang:/usr/bin/clang++
  abigail-tools:/usr/bin/abidiff
)
# What the examples in examples/languages are built with.
language_packages=(
  gcc:/usr/bin/gcc
  cargo:/usr/bin/cargo
  golang-go:/usr/bin/go
  default-jdk-headless:/usr/bin/javac
  libjna-java:/usr/share/java/jna.jar
)
count_packages=(
  valgrind:/usr/bin/valgrind
)
consumer_packages=(
  clang:/usr/bin/clang++
  cmake:/usr/bin/cmake
)

# install_packages package:file... installs those whose file is missing.
install_packages() {
  local entry sudo='' missing=()
  for entry in "$@"; do
    [[ -e ${entry#*:} ]] || missing+=("${entry%%:*}")
  done
  ((${#missing[@]})) || return 0
  # Slim images leave out /usr/share/doc: ask the package tool before installing anything again.
  if command -v dpkg-query >/dev/null; then
    local name wanted=()
    for name in "${missing[@]}"; do
      [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$name" 2>/dev/null) == ii* ]] || wanted+=("$name")
    done
    ((${#wanted[@]})) || return 0
    missing=("${wanted[@]}")
  fi
  command -v apt-get >/dev/null || die "no apt-get here; please install the counterparts of: ${missing[*]}"
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "not root; please run: apt-get install ${missing[*]}"
    sudo='sudo -n'
  fi
  say "installing packages: ${missing[*]}"
  local apt="$sudo apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0"
  # A start that was interrupted may have left packages half set up.
  [[ -z $(dpkg --audit 2>/dev/null) ]] || $sudo dpkg --configure -a >&2
  $apt update >&2 || say 'apt-get update failed; trying with the lists that are here'
  $apt install --no-install-recommends "${missing[@]}" >&2
}

# The first Python from 3.11 to 3.14 that can make environments.
find_python() {
  local candidate
  for candidate in python3 /usr/bin/python3 python3.11 python3.12 python3.13 python3.14; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  die 'no Python from 3.11 to 3.14 with the modules venv and ensurepip'
}

venv_torch() { compgen -G "$root/.venv/lib/python3.*/site-packages/torch" | head -n 1 || true; }

# True when SR_TORCH is the torch of a Python environment and can serve .venv too.
borrows_torch() { [[ -n $torch_home && -f $torch_home/__init__.py ]]; }

setup_venv() {
  local want base minor stamp=.venv/.sr-stamp
  want=$({ cat tools/requirements.txt; echo "$root"; if borrows_torch; then echo "$torch_home"; fi; } | digest)
  if [[ -x $python && -x .venv/bin/ninja && $(cat "$stamp" 2>/dev/null) == "$want" ]] &&
      { borrows_torch || [[ -d $(venv_torch)/lib ]]; }; then
    return
  fi
  rm -f "$stamp"
  if [[ ! -x $python ]] || ! "$python" -m pip --version >/dev/null 2>&1; then
    base=$(find_python)
    minor=$("$base" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    say "making .venv with $base ($minor)"
    [[ -d .venv/lib/python$minor ]] || rm -rf .venv  # of another Python: nothing in it can be kept
    rm -f .venv/bin/python*                          # these may point to a Python that is gone
    "$base" -m venv .venv
  fi
  local site requirements=tools/requirements.txt
  site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  rm -f "$site/sr_torch.pth"
  if borrows_torch; then
    [[ $torch_home == */python"$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"/* ]] ||
      die "SR_TORCH belongs to another Python than $("$python" --version); give a plain libtorch directory, or put that Python first in PATH and remove .venv"
    requirements=.venv/requirements.txt
    grep -v '^torch==' tools/requirements.txt >"$requirements"
  fi
  say "installing Python packages: $(grep -v '^#' "$requirements" | tr '\n' ' ')"
  "$python" -m pip install --progress-bar off --requirement "$requirements" >&2
  # Last, or pip would take what it finds there for installed here.
  if borrows_torch; then dirname "$torch_home" >"$site/sr_torch.pth"; fi
  echo "$want" >"$stamp"
}

setup() {
  [[ -z ${SR_TORCH:-} || -d $torch_home/include/torch ]] || die "SR_TORCH=$SR_TORCH holds no LibTorch (include/torch is missing)"
  install_packages "${packages[@]}"
  setup_venv
  [[ -n $torch_home ]] || torch_home=$(venv_torch)
}

# make_environment DIR REQUIREMENTS PYTHON: an environment whose packages stay out of .venv, because what they need
# would decide what sr is built with. Does nothing when DIR was made from the same.
make_environment() {
  local dir=$1 requirements=$2 base=$3 want stamp=$1/.sr-stamp
  want=$({ cat "$requirements"; "$base" --version; echo "$root"; } | digest)
  [[ ! -x $dir/bin/python || $(cat "$stamp" 2>/dev/null) != "$want" ]] || return 0
  say "making $dir with $base"
  rm -rf "$dir"
  "$base" -m venv "$dir"
  say "installing Python packages: $(grep -v '^#' "$requirements" | tr '\n' ' ')"
  "$dir/bin/python" -m pip install --progress-bar off --requirement "$requirements" >&2
  echo "$want" >"$stamp"
}

setup_peers() { make_environment .venv-peers bench/peers/requirements.txt "$(find_python)"; }

# With the Python of .venv, for which the extension is built.
own_python() { "$python" -c 'import sys; print(sys._base_executable)'; }
setup_examples() { make_environment .venv-examples examples/models/requirements.txt "$(own_python)"; }
setup_coverage() { make_environment .venv-coverage examples/coverage/requirements.txt "$(own_python)"; }
setup_site() {
  install_packages doxygen:/usr/bin/doxygen
  make_environment .venv-site tools/site/requirements.txt "$(own_python)"
}
setup_pages() {
  install_packages chromium-headless-shell:/usr/bin/chromium-headless-shell
  make_environment .venv-pages tests/python/pages/requirements.txt "$(own_python)"
}
# make_environment_with_torch NAME REQUIREMENTS: with torch and numpy of .venv, for which the package is built.
make_environment_with_torch() {
  make_environment ".venv-$1" "$2" "$(own_python)"
  echo "$root/.venv/lib/$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')/site-packages" \
    >"$(".venv-$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/sr_venv.pth"
}
setup_servers() { make_environment_with_torch servers bench/serving/requirements.txt; }
setup_clients() { make_environment_with_torch clients tests/python/clients/requirements.txt; }
setup_ray() { make_environment .venv-ray tests/python/serving/requirements.txt "$(own_python)"; }
