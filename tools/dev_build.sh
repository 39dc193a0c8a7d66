# How ./dev configures and compiles. Sourced by it; dev_setup.sh has what must be installed.

meson() { "$python" -m mesonbuild.mesonmain "$@"; }

# configure DIR OPTION...: does nothing when DIR was configured with the same options before.
configure() {
  local dir=$1 want compiler=${CXX:-g++}
  shift
  if [[ $compiler != ccache* ]] && command -v ccache >/dev/null; then
    compiler="ccache $compiler"
  fi
  local options=(-Ddevel=true "-Dtorch=$torch_home" --wrap-mode=nodownload "$@")
  want=$(printf '%s\n' "$root" "$compiler" "$("${compiler##* }" -dumpfullversion)" "${options[@]}" | digest)
  [[ -f $dir/build.ninja && $(cat "$dir/.sr-stamp" 2>/dev/null) == "$want" ]] && return
  say "configuring $dir"
  # An environment or tree that moved, or another compiler: what Meson has stored is of no use.
  rm -rf "$dir/meson-private" "$dir/meson-info" "$dir/build.ninja" "$dir/.sr-stamp"
  CXX=$compiler meson setup "$dir" "${options[@]}" >&2
  echo "$want" >"$dir/.sr-stamp"
}

# g++ 12 warns wrongly under sanitizers, so only here are warnings errors.
configure_plain() { configure build -Dwerror=true; }

# As many compilers as there are cores, fewer where memory is short: one takes up to 3 GB. SR_JOBS decides instead.
jobs() {
  local count room
  count=$(nproc)
  room=$(awk '/^MemAvailable:/ { print int($2 / (3 * 1024 * 1024)) }' /proc/meminfo)
  ((room >= count)) || count=$((room > 1 ? room : 1))
  echo "${SR_JOBS:-$count}"
}

compile() {  # compile DIR [TARGET...]
  local dir=$1 count
  shift
  count=$(jobs)
  say "building $dir${*:+: $*} with $count jobs"
  # ccache then finds what another clone or worktree has compiled of the same sources.
  CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=1 NINJA_STATUS='[%f/%t, %e s] ' "$NINJA" -C "$dir" -j "$count" "$@" >&2
}

# Configures a directory for that sanitizer, or `build` for none, and says so in build_dir and launch.
use_sanitizer() {
  local flags='' kinds=$1
  build_dir=build${1:+-$1} launch=()
  case $1 in
    '')
      configure_plain
      return
      ;;
    address | undefined | thread) ;;
    *) die "unknown sanitizer '$1'; there are address, undefined, thread" ;;
  esac
  [[ $1 != address ]] || kinds=address,undefined
  # Under the first three g++ 12 no longer takes the address of a schema literal for a constant; the last needs
  # type information that LibTorch hides.
  [[ $1 == thread ]] || flags=-Dcpp_args=-fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute,vptr
  configure "$build_dir" ${flags:+"$flags"} -Db_sanitize="$kinds" -Db_lundef=false -Doptimization=1 -Ddebug=false -Db_ndebug=false -Dbench=false
  export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_odr_violation=0:abort_on_error=1}
  export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$root/tools/lsan.supp:print_suppressions=0}
  export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}
  export TSAN_OPTIONS=${TSAN_OPTIONS:-suppressions=$root/tools/tsan.supp:halt_on_error=1}
  # AddressSanitizer was seen to ignore RPATH; ThreadSanitizer of g++ 12 needs fixed addresses.
  export LD_LIBRARY_PATH=$torch_home/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  [[ $1 != thread ]] || launch=(setarch "$(uname -m)" -R)
}

# Fetches what C++ needs of that version of LibTorch, unless it is here, and configures a directory for it. Sets
# torch_home, build_dir and launch.
use_torch() {
  local place=$root/.torch/$1
  [[ $1 =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "'$1' is no version of LibTorch; give one such as 2.14.1"
  if [[ ! -f $place/torch/version.py ]]; then
    say "fetching LibTorch $1 into .torch"
    "$python" tools/fetch_torch.py "$1" "$place"
  fi
  torch_home=$place/torch build_dir=build-torch-$1 launch=()
  configure "$build_dir" -Dwerror=true -Dbench=false
}

# Takes `--sanitize KIND` off the front of the arguments: says the kind in sanitizer and what is left in rest.
take_sanitizer() {
  sanitizer='' rest=("$@")
  [[ ${1:-} == --sanitize ]] || return 0
  (($# > 1)) || die '--sanitize needs one of address, undefined, thread'
  sanitizer=$2 rest=("${@:3}")
}
