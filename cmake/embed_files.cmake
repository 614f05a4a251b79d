# Writes OUT, a C++ source that defines lycosa::web::all_assets() with the FILES (separated by |),
# each packed by gzip. The same files give the same source.
string(REPLACE "|" ";" FILES "${FILES}")
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

set(bytes "")
set(table "")
set(count 0)
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  get_filename_component(kind "${file}" LAST_EXT)
  string(SUBSTRING "${kind}" 1 -1 kind)
  if(NOT DEFINED type_${kind})
    message(FATAL_ERROR "no content type is known for ${file}")
  endif()
  file(SHA256 "${file}" hash)
  string(SUBSTRING "${hash}" 0 20 hash)
  file(ARCHIVE_CREATE OUTPUT "${OUT}.gz" PATHS "${file}" FORMAT raw
    COMPRESSION GZip COMPRESSION_LEVEL 9)
  file(READ "${OUT}.gz" hex HEX)
  # Bytes 4 to 7 of the header are the time of packing.
  string(SUBSTRING "${hex}" 0 8 head)
  string(SUBSTRING "${hex}" 16 -1 rest)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," list "${head}00000000${rest}")
  string(APPEND bytes "constexpr char file_${count}[] = {${list}};\n")
  string(APPEND table
    "    {\"${name}\", \"${type_${kind}}\", \"\\\"${hash}\\\"\", {file_${count}, sizeof file_${count}}},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(REMOVE "${OUT}.gz")
file(WRITE "${OUT}" "#include \"web/assets.hpp\"

namespace lycosa::web {
namespace {

${bytes}
constexpr asset assets[] = {
${table}};

} // namespace

std::span<const asset> all_assets() noexcept {
  return assets;
}

} // namespace lycosa::web
")
