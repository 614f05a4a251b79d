#include "gateway/items.hpp"
#include "gateway/xmlrpc.hpp"
#include "gateway/xmlrpc_text.hpp"
#include "tests/gateway/fake_node.hpp"

#include <gtest/gtest.h>

namespace lycosa::gateway {
namespace {

std::string call_text(std::string_view method, std::string_view params) {
  return "<?xml version='1.0'?><methodCall><methodName>" + std::string{method}
         + "</methodName><params>" + std::string{params} + "</params></methodCall>";
}

std::string param(std::string_view value) {
  return "<param><value>" + std::string{value} + "</value></param>";
}

/// The JSON of one value, or the fault's text.
std::string json_of(std::string_view value) {
  const auto call = parse_call(call_text("m", param(value)));
  if (!call) return "fault " + std::to_string(static_cast<int>(call.error().code));
  return call->params.at(0);
}

// -- text ----------------------------------------------------------------------------------------

TEST(xmlrpc_text, every_type_is_read) {
  const std::pair<const char*, const char*> cases[]{
      {"<int>-7</int>", "-7"},
      {"<i4> 12 </i4>", "12"},
      {"<i8>9007199254740993</i8>", "9007199254740993"},
      {"<ex:i8>1</ex:i8>", "1"},
      {"<boolean>1</boolean>", "true"},
      {"<boolean>0</boolean>", "false"},
      {"<double>-1.5e3</double>", "-1500"},
      {"<string>a&lt;b&amp;&#228;</string>", "\"a<b&\xc3\xa4\""},
      {"<string> </string>", "\" \""},
      {"<string/>", "\"\""},
      {"plain", "\"plain\""},
      {"", "\"\""},
      {"<string>a<![CDATA[<b>]]>c</string>", "\"a<b>c\""},
      {"<nil/>", "null"},
      {"<ex:nil/>", "null"},
      {"<base64>aGk=</base64>", "\"hi\""},
      {"<base64>//4=</base64>", "\"[BASE64-DATA]//4=[/BASE64-DATA]\""},
      {"<dateTime.iso8601>20260102T03:04:05</dateTime.iso8601>", "\"20260102T03:04:05\""},
      {"<array><data><value><int>1</int></value> <value>x</value></data></array>", "[1,\"x\"]"},
      {"<array><data/></array>", "[]"},
      {"<struct> </struct>", "{}"},
      {"<struct><member><name>a</name><value><nil/></value></member></struct>", "{\"a\":null}"}};
  for (const auto& [xml, json] : cases)
    EXPECT_EQ(json_of(xml), json) << xml;
}

TEST(xmlrpc_text, wrong_values_are_refused_as_such) {
  for (const auto* xml :
       {"<int>x</int>", "<int>1.5</int>", "<int></int>", "<i8>99999999999999999999</i8>",
        "<boolean>true</boolean>", "<double>nan</double>", "<double>inf</double>",
        "<double>1,5</double>", "<base64>a</base64>", "<odd>1</odd>", "<array/>",
        "<struct><member><name>a</name></member></struct>"})
    EXPECT_EQ(json_of(xml), "fault -32602") << xml;
}

TEST(xmlrpc_text, hostile_documents_are_refused) {
  const std::string deep = [] {
    std::string open, close;
    for (int i = 0; i < 100'000; ++i) {
      open += "<array><data><value>";
      close += "</value></data></array>";
    }
    return open + close;
  }();
  EXPECT_EQ(json_of(deep), "fault -32602");
  const auto code = [](std::string_view body) {
    const auto call = parse_call(body);
    return call ? 0 : static_cast<int>(call.error().code);
  };
  EXPECT_EQ(code("<?xml version='1.0'?><!DOCTYPE l [<!ENTITY a 'x'><!ENTITY b '&a;&a;'>]>"
                 "<methodCall><methodName>&b;</methodName></methodCall>"),
            -32700);
  EXPECT_EQ(code("<!DOCTYPE r SYSTEM 'file:///etc/passwd'><methodCall/>"), -32700);
  EXPECT_EQ(code(""), -32700);
  EXPECT_EQ(code("not xml"), -32700);
  EXPECT_EQ(code("<methodCall>\xff</methodCall>"), -32700);
  EXPECT_EQ(code("<methodCall/>"), -32600);
  EXPECT_EQ(code("<methodCall><methodName> </methodName></methodCall>"), -32600);
  EXPECT_EQ(code("<other><methodName>m</methodName></other>"), -32600);
  EXPECT_EQ(code(call_text("m", "<param/>")), -32600);
}

TEST(xmlrpc_text, a_call_cut_anywhere_stops_nothing) {
  const auto whole = call_text(
      "newtask", param("<struct><member><name>taskid</name><value>x</value></member></struct>"));
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_FALSE(parse_call(whole.substr(0, n)).has_value()) << n;
}

TEST(xmlrpc_text, answers_are_what_clients_read) {
  EXPECT_NE(write_xmlrpc("null").find("<value><nil/></value>"), std::string::npos);
  EXPECT_NE(write_xmlrpc("5000000000").find("<i8>5000000000</i8>"), std::string::npos);
  EXPECT_NE(write_xmlrpc("-5").find("<int>-5</int>"), std::string::npos);
  EXPECT_NE(write_xmlrpc("1.5").find("<double>1.5</double>"), std::string::npos);
  EXPECT_NE(write_xmlrpc("\"<a>\\u0001\\r\"").find("&lt;a&gt;\xef\xbf\xbd&#13;"),
            std::string::npos);
  const auto fault = write_xmlrpc(xmlrpc_fault{fault_code::internal, "a<b"});
  EXPECT_NE(fault.find("<fault>"), std::string::npos);
  EXPECT_NE(fault.find("<int>-32603</int>"), std::string::npos);
}

TEST(xmlrpc_text, whatever_an_answer_holds_a_client_can_read_it) {
  const std::string odd[]{"\xef\xbf\xbf", "\xef\xbf\xbe", "\xed\xa0\x80",     "\xff",
                          "\xc3",         "\xe2\x82",     "\xf4\x90\x80\x80", std::string(1, '\0'),
                          "\x01",         "\xc0\x80"};
  for (const auto& text : odd) {
    const auto answer = write_xmlrpc(xmlrpc_fault{fault_code::internal, "a" + text + "b"});
    EXPECT_EQ(answer.find(text + "b"), std::string::npos);
    EXPECT_NE(answer.find("\xef\xbf\xbd"), std::string::npos);
    EXPECT_NE(answer.find("b</string>"), std::string::npos);
  }
  // A text cut in the middle of a character.
  const std::string cut = std::string{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"};
  for (std::size_t n = 0; n <= cut.size(); ++n)
    EXPECT_TRUE(is_utf8(write_xmlrpc(xmlrpc_fault{fault_code::internal, cut.substr(0, n)}))) << n;
  EXPECT_NE(write_xmlrpc("\"\xf0\x9f\x98\x80\"").find("\xf0\x9f\x98\x80"), std::string::npos);
}

TEST(xmlrpc_text, references_to_no_character_are_refused) {
  for (const auto* reference :
       {"&#0;", "&#x0;", "&#xD800;", "&#xFFFF;", "&#xFFFE;", "&#1114112;", "&#x;", "&#;"})
    EXPECT_EQ(json_of(std::string{"a"} + reference + "b"), "fault -32700") << reference;
  EXPECT_EQ(json_of("a&#228;&#x1F600;b"), "\"a\xc3\xa4\xf0\x9f\x98\x80"
                                          "b\"");
}

TEST(xmlrpc_text, what_is_written_reads_back) {
  const std::string json = R"({"a":[1,-2,1.5,null,true,"x<&>\n"],"b":{"c":""}})";
  auto xml = write_xmlrpc(json);
  const auto from = xml.find("<value>");
  const auto to = xml.rfind("</param>");
  const auto call =
      parse_call(call_text("m", "<param>" + xml.substr(from, to - from) + "</param>"));
  ASSERT_TRUE(call.has_value());
  EXPECT_EQ(call->params.at(0), json);
}

// -- methods -------------------------------------------------------------------------------------

/// Keeps the answer, which is rendered at once.
class kept_answer final : public exchange {
public:
  void answer(std::function<response()> render) override { got = render(); }
  void cancellable(std::function<void()>, response) override {}
  response got;
};

class xmlrpc_test : public ::testing::Test {
protected:
  std::string call(std::string_view method, std::string_view params = "") {
    return post(call_text(method, params)).body;
  }
  response post(std::string body, std::string method = "POST") {
    request r;
    r.method = std::move(method);
    r.body->text = std::move(body);
    auto x = std::make_shared<kept_answer>();
    answer_xmlrpc(service, std::move(r), x);
    return x->got;
  }
  static std::string task(std::string_view members) {
    std::string s = "<struct>";
    for (const auto* name : {"taskid", "project", "url"})
      if (members.find(name) != std::string_view::npos)
        s += "<member><name>" + std::string{name} + "</name><value>v</value></member>";
    return param(s + "</struct>");
  }

  fake_node node;
  int quits = 0;
  xmlrpc_service service{node, {}, [this] { ++quits; }};
};

bool says(const std::string& body, std::string_view what) {
  return body.find("<value>" + std::string{what} + "</value>") != std::string::npos;
}

TEST_F(xmlrpc_test, a_get_is_no_call) {
  EXPECT_EQ(post("", "GET").status, 400U);
}

TEST_F(xmlrpc_test, a_task_lacking_what_it_must_have_is_not_taken) {
  EXPECT_TRUE(says(call("newtask", task("project url")), "<boolean>0</boolean>"));
  EXPECT_TRUE(says(call("newtask", task("taskid url")), "<boolean>0</boolean>"));
  EXPECT_TRUE(says(call("newtask", task("taskid project")), "<boolean>0</boolean>"));
  EXPECT_TRUE(says(call("newtask", param("<int>1</int>")), "<boolean>0</boolean>"));
  EXPECT_TRUE(node.tasks.empty());
  EXPECT_TRUE(says(call("newtask", task("taskid project url")), "<boolean>1</boolean>"));
  ASSERT_EQ(node.tasks.size(), 1U);
  EXPECT_EQ(node.tasks[0].taskid, "v");
}

TEST_F(xmlrpc_test, parts_of_a_task_come_through) {
  call("newtask", param("<struct><member><name>taskid</name><value>t</value></member>"
                        "<member><name>project</name><value>p</value></member>"
                        "<member><name>url</name><value>u</value></member>"
                        "<member><name>fetch</name><value><struct><member><name>n</name>"
                        "<value><int>3</int></value></member></struct></value></member>"
                        "<member><name>schedule</name><value><struct><member><name>priority</name>"
                        "<value><int>4</int></value></member></struct></value></member></struct>"));
  ASSERT_EQ(node.tasks.size(), 1U);
  EXPECT_EQ(node.tasks[0].fetch, R"({"n":3})");
  EXPECT_EQ(node.tasks[0].sched.priority, 4);
}

TEST_F(xmlrpc_test, a_full_disk_is_a_fault_and_not_a_refusal) {
  node.failure = error{errc::no_space, "shard", "full"};
  EXPECT_NE(call("newtask", task("taskid project url")).find("-32603"), std::string::npos);
}

TEST_F(xmlrpc_test, send_task_goes_straight_to_the_next_consumer) {
  EXPECT_TRUE(says(call("send_task", task("taskid project url")), "<boolean>1</boolean>"));
  ASSERT_EQ(node.sent.size(), 1U);
  EXPECT_TRUE(node.tasks.empty());
}

TEST_F(xmlrpc_test, counters_have_pyspiders_names) {
  node.counted.push_back({"p", {1, 2, 3, 4}, {0.5, 0.25}});
  const auto sums = call("counter", param("<string>5m</string>") + param("sum"));
  EXPECT_NE(sums.find("<name>retry</name>"), std::string::npos);
  EXPECT_EQ(node.asked_counters.back().second, counter_kind::sum);
  const auto times = call("counter", param("5m_time") + param("avg"));
  EXPECT_NE(times.find("<name>fetch_time</name>"), std::string::npos);
  EXPECT_EQ(node.asked_counters.back().second, counter_kind::avg);
  EXPECT_NE(call("counter", param("2m") + param("sum")).find("-32602"), std::string::npos);
  EXPECT_NE(call("counter", param("5m") + param("max")).find("-32602"), std::string::npos);
}

TEST_F(xmlrpc_test, the_web_interface_gets_everything_in_one_call) {
  node.put_project("p", {}, [](const auto&) {});
  const auto all = call("webui_update");
  for (const auto* name : {"pause_status", "counter", "5m_time", "5m", "1h", "1d", "all", "p"})
    EXPECT_NE(all.find("<name>" + std::string{name} + "</name>"), std::string::npos) << name;
  EXPECT_EQ(node.asked_counters.size(), 5U);
}

TEST_F(xmlrpc_test, nothing_is_ever_nil_but_what_pyspider_answers_so) {
  EXPECT_TRUE(says(call("update_project"), "<nil/>"));
  for (const auto* method : {"size", "get_active_tasks", "get_projects_pause_status"})
    EXPECT_EQ(call(method).find("<nil/>"), std::string::npos) << method;
}

TEST_F(xmlrpc_test, quitting_is_answered_first) {
  EXPECT_TRUE(says(call("_quit"), "<nil/>"));
  EXPECT_EQ(quits, 1);
}

TEST_F(xmlrpc_test, unknown_methods_and_wrong_arguments_are_faults_and_counted) {
  EXPECT_NE(call("nope").find("-32601"), std::string::npos);
  EXPECT_NE(call("newtask").find("-32602"), std::string::npos);
  EXPECT_NE(call("size", param("x")).find("-32602"), std::string::npos);
  EXPECT_NE(call("get_active_tasks", param("<int>1</int>")).find("-32602"), std::string::npos);
  EXPECT_NE(call("get_active_tasks", param("") + param("-1")).find("-32602"), std::string::npos);
  EXPECT_EQ(service.faults, 5U);
}

TEST_F(xmlrpc_test, describes_itself) {
  EXPECT_NE(call("system.listMethods").find("<string>webui_update</string>"), std::string::npos);
  EXPECT_NE(call("system.methodHelp", param("size")).find("Tasks"), std::string::npos);
}

} // namespace
} // namespace lycosa::gateway
