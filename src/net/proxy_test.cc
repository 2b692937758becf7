// SPDX-License-Identifier: Apache-2.0
#include "net/proxy.h"

#include <gtest/gtest.h>

#include <map>

namespace stoker {
namespace {

using Variables = std::map<std::string, std::string>;

Result<std::optional<HttpProxy>> Ask(const std::string& url, const Variables& variables) {
  return ProxyFor(*ParseHttpUrl(url), [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

// "" = straight.
std::string Way(const std::string& url, const Variables& variables) {
  const auto proxy = Ask(url, variables);
  if (!proxy.ok()) return std::string(CodeName(proxy.code()));
  return *proxy ? OriginText((*proxy)->url) : "";
}

TEST(Proxy, ComesFromTheVariableOfTheScheme) {
  const Variables both = {{"https_proxy", "http://secure:3128"}, {"http_proxy", "plain:8080"}};
  EXPECT_EQ(Way("https://s3.amazonaws.com", both), "http://secure:3128");
  EXPECT_EQ(Way("http://s3.amazonaws.com", both), "http://plain:8080");
  EXPECT_EQ(Way("https://h", {{"HTTPS_PROXY", "http://big:1"}}), "http://big:1");
  EXPECT_EQ(Way("http://h", {{"HTTP_PROXY", "http://big:1"}}), "");  // a header of CGI's callers
  EXPECT_EQ(Way("http://h", {{"ALL_PROXY", "http://all"}}), "http://all");
  EXPECT_EQ(Way("https://h", {{"https_proxy", ""}}), "");
  EXPECT_EQ(Way("https://h", {}), "");
}

TEST(Proxy, NoProxyNamesHostsAndDomains) {
  const auto way = [](const std::string& url, const std::string& list) {
    return Way(url, {{"all_proxy", "http://p"}, {"no_proxy", list}});
  };
  EXPECT_EQ(way("http://a.example.com", "x, example.com"), "");
  EXPECT_EQ(way("http://a.example.com", ".example.com"), "");
  EXPECT_EQ(way("http://a.example.com", "*.EXAMPLE.com"), "");
  EXPECT_EQ(way("http://example.com", "example.com"), "");
  EXPECT_EQ(way("http://notexample.com", "example.com"), "http://p");
  EXPECT_EQ(way("http://h:81", "h:80"), "http://p");
  EXPECT_EQ(way("http://h:81", "h:81"), "");
  EXPECT_EQ(way("http://[fd00:ec2::254]", "fd00:ec2::254"), "");
  EXPECT_EQ(way("http://[fd00:ec2::254]", "[fd00:ec2:0::254]"), "");
  EXPECT_EQ(way("http://[::1]:81", "[::1]:81"), "");
  EXPECT_EQ(way("http://[::1]:81", "[::1]:80"), "http://p");
  EXPECT_EQ(way("http://[::1]", "[::2]"), "http://p");
  EXPECT_EQ(way("http://anything", "*"), "");
  EXPECT_EQ(way("http://anything", ""), "http://p");
}

TEST(Proxy, NoProxyNamesBlocksOfNumbers) {
  const auto straight = [](const std::string& url, const std::string& list) {
    return Way(url, {{"all_proxy", "http://p"}, {"no_proxy", list}}).empty();
  };
  EXPECT_TRUE(straight("http://10.1.2.3:9000", "localhost,10.0.0.0/8"));
  EXPECT_FALSE(straight("http://11.1.2.3", "10.0.0.0/8"));
  EXPECT_TRUE(straight("http://172.31.255.255", "172.16.0.0/12"));
  EXPECT_FALSE(straight("http://172.32.0.0", "172.16.0.0/12"));
  EXPECT_TRUE(straight("http://1.2.3.4", "1.2.3.4/32"));
  EXPECT_FALSE(straight("http://1.2.3.5", "1.2.3.4/32"));
  EXPECT_TRUE(straight("http://1.2.3.5", "0.0.0.0/0"));
  EXPECT_TRUE(straight("http://[fd12::1]", "fd00::/8"));
  EXPECT_FALSE(straight("http://[fe12::1]", "fd00::/8"));
  EXPECT_FALSE(straight("http://1.2.3.4", "::/0"));  // of the other family
  // Names are not looked up for it, and what is no block has nobody in it.
  EXPECT_FALSE(straight("http://host", "0.0.0.0/0"));
  for (const char* odd : {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "10.0.0.0/-1", "10/8", "/8"}) {
    EXPECT_FALSE(straight("http://10.0.0.0", odd)) << odd;
  }
}

TEST(Proxy, ItsPasswordGoesIntoAHeaderAndIntoNoMessage) {
  const auto proxy = Ask("https://h", {{"https_proxy", "http://ann:p%40ss@proxy:3128/"}});
  ASSERT_TRUE(proxy.ok() && *proxy);
  EXPECT_EQ(OriginText((*proxy)->url), "http://proxy:3128");
  EXPECT_EQ((*proxy)->authorization, "Basic YW5uOnBAc3M=");
  const auto bad = Ask("https://h", {{"https_proxy", "socks5://ann:secret@proxy:1"}});
  EXPECT_EQ(bad.code(), Code::kInvalid);
  EXPECT_EQ(bad.status().ToString().find("secret"), std::string::npos);
  EXPECT_NE(bad.status().ToString().find("proxy:1"), std::string::npos);
}

}  // namespace
}  // namespace stoker
