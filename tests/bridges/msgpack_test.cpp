#include "bridges/msgpack.hpp"
#include <gtest/gtest.h>

#include <string>

namespace lycosa::bridges {
namespace {

using namespace std::string_literals;

std::string json_of(std::string_view body) {
  std::string out;
  const auto read = append_as_json(out, body);
  return read ? out : "error: " + read.error().why;
}

TEST(msgpack, every_kind_of_value_is_read) {
  const std::pair<std::string, std::string> cases[]{
      {"\xc0", "null"},
      {"\xc2", "false"},
      {"\xc3", "true"},
      {"\x00"s, "0"},
      {"\x7f", "127"},
      {"\xe0", "-32"},
      {"\xff", "-1"},
      {"\xcc\xff", "255"},
      {"\xcd\xff\xff", "65535"},
      {"\xce\xff\xff\xff\xff", "4294967295"},
      {"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"},
      {"\xd0\x80", "-128"},
      {"\xd1\x80\x00"s, "-32768"},
      {"\xd2\x80\x00\x00\x00"s, "-2147483648"},
      {"\xd3\x80\x00\x00\x00\x00\x00\x00\x00"s, "-9223372036854775808"},
      {"\xca\x3f\xc0\x00\x00"s, "1.5"},
      {"\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a", "0.1"},
      {"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"s, "null"},
      {"\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00"s, "null"},
      {"\xa0", "\"\""},
      {"\xa3"
       "a\"b",
       R"("a\"b")"},
      {"\xd9\x02"
       "hi",
       "\"hi\""},
      {"\xda\x00\x02"s + "hi", "\"hi\""},
      {"\xdb\x00\x00\x00\x02"s + "hi", "\"hi\""},
      {"\xc4\x02"
       "hi",
       "\"hi\""}, // Python 2 packs text as binary
      {"\xc5\x00\x02"s + "hi", "\"hi\""},
      {"\xc6\x00\x00\x00\x02"s + "hi", "\"hi\""},
      {"\xc4\x02\xff\xfe", R"("[BASE64-DATA]\/\/4=[/BASE64-DATA]")"},
      {"\x90", "[]"},
      {"\x92\x01\xc0", "[1,null]"},
      {"\xdc\x00\x01\x05"s, "[5]"},
      {"\xdd\x00\x00\x00\x01\x05"s, "[5]"},
      {"\x80", "{}"},
      {"\x81\xa1k\x01", R"({"k":1})"},
      {"\xde\x00\x01\xa1k\x01"s, R"({"k":1})"},
      {"\xdf\x00\x00\x00\x01\xa1k\x01"s, R"({"k":1})"},
      {"\x82\x00\x1e\xa0\x3c"s, R"({"0":30,"":60})"}, // retry_delay = {0: 30, '': 60}
      {"\x81\xc4\x01k\xc3", R"({"k":true})"}};
  for (const auto& [body, json] : cases) {
    auto got = json_of(body);
    // A slash may be written with or without a backslash.
    for (auto at = got.find("\\/"); at != std::string::npos; at = got.find("\\/"))
      got.erase(at, 1);
    auto want = json;
    for (auto at = want.find("\\/"); at != std::string::npos; at = want.find("\\/"))
      want.erase(at, 1);
    EXPECT_EQ(got, want);
  }
}

TEST(msgpack, what_is_broken_is_refused_and_costs_nothing) {
  const std::string nested(200, '\x91');
  const std::string broken[]{""s,
                             "\xc1"s,
                             "\xd4\x01\x02"s,
                             "\xc7\x01\x01\x01"s,
                             std::string{"\xa3"} + "ab",
                             "\xdb\xff\xff\xff\xff"s + "a",
                             "\xdd\xff\xff\xff\xff"s,
                             "\xdf\xff\xff\xff\xff\x01"s,
                             "\x81\x90\x01"s,
                             "\x81\x80\x01"s,
                             nested + "\x01",
                             "\x01\x01"s,
                             "\xcb\x00"s};
  for (const auto& body : broken)
    EXPECT_EQ(json_of(body).rfind("error: is not MessagePack: byte ", 0), 0U) << body.size();
}

TEST(msgpack, a_message_cut_anywhere_is_refused) {
  const std::string whole =
      to_msgpack(R"({"taskid":"t","project":"p","url":"http://x/","schedule":{"priority":3},)"
                 R"("fetch":{"headers":{"a":"b"},"n":[1,2.5,null,true,-7]}})")
          .value();
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_EQ(json_of(std::string_view{whole}.substr(0, n)).rfind("error", 0), 0U) << n;
}

TEST(msgpack, what_is_written_reads_back) {
  for (const auto* json :
       {"{}", R"({"a":[1,-1,1.5,null,true,"\u00e4"],"b":{"c":18446744073709551615}})", "12",
        "\"x\""}) {
    const auto packed = to_msgpack(json);
    ASSERT_TRUE(packed.has_value());
    std::string again;
    ASSERT_TRUE(append_as_json(again, *packed).has_value());
    EXPECT_EQ(to_msgpack(again).value(), *packed) << json;
  }
  EXPECT_FALSE(to_msgpack("{").has_value());
}

} // namespace
} // namespace lycosa::bridges
