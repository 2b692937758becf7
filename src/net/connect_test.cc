// SPDX-License-Identifier: Apache-2.0
#include "net/connect.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>

namespace stoker {
namespace {

TcpAddress AddressOf(const Socket& socket) {
  TcpAddress out;
  out.size = sizeof out.at;
  EXPECT_EQ(getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&out.at), &out.size), 0);
  return out;
}

int PeerPort(const Socket& socket) {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  getpeername(socket.fd(), reinterpret_cast<sockaddr*>(&at), &size);
  return ntohs(at.sin_port);
}

// Says nothing to who wants to connect, as an address does that leads nowhere: its queue is full.
class Dead {
 public:
  Dead() : listener_(ListenTcp("127.0.0.1", 0).value()) {
    EXPECT_EQ(listen(listener_.fd(), 0), 0);
    address_ = AddressOf(listener_);
    for (Socket& waiting : waiting_) {
      waiting = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      (void)connect(waiting.fd(), reinterpret_cast<const sockaddr*>(&address_.at), address_.size);
      pollfd connected{waiting.fd(), POLLOUT, 0};
      poll(&connected, 1, 100);
    }
  }
  const TcpAddress& address() const { return address_; }

 private:
  Socket listener_;
  TcpAddress address_;
  Socket waiting_[3];
};

// Nobody listens there, and says so.
TcpAddress Refusing() {
  const Socket gone = ListenTcp("127.0.0.1", 0).value();
  return AddressOf(gone);
}

TEST(Connect, AnAddressThatLeadsNowhereDoesNotHoldUpTheOthers) {
  const Dead first, second;
  const Socket live = ListenTcp("127.0.0.1", 0).value();
  const auto got = ConnectToAny({first.address(), second.address(), AddressOf(live)},
                                Deadline(Duration::Seconds(20)));
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(PeerPort(*got), LocalPort(live).value());
}

TEST(Connect, AfterARefusalTheNextIsTried) {
  const Socket live = ListenTcp("127.0.0.1", 0).value();
  TcpAddress no_such_family = AddressOf(live);
  no_such_family.at.ss_family = AF_MAX;
  const auto got =
      ConnectToAny({no_such_family, Refusing(), AddressOf(live)}, Deadline(Duration::Seconds(20)));
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(PeerPort(*got), LocalPort(live).value());
  const auto none = ConnectToAny({Refusing(), Refusing()}, Deadline(Duration::Seconds(20)));
  EXPECT_NE(none.status().message().find("refused"), std::string::npos) << none.status().ToString();
  EXPECT_EQ(ConnectToAny({}, Deadline(Duration::Seconds(1))).code(), Code::kUnavailable);
}

TEST(Connect, TheDeadlineIsThatOfAllTogether) {
  const Dead dead;
  const auto got =
      ConnectToAny({dead.address(), Refusing(), dead.address()}, Deadline(Duration::Ms(300)));
  EXPECT_EQ(got.code(), Code::kTimeout);
}

TEST(Connect, FamiliesTakeTurns) {
  std::vector<TcpAddress> addresses(5);
  const int families[] = {AF_INET6, AF_INET6, AF_INET6, AF_INET, AF_INET};
  for (size_t i = 0; i < 5; ++i) {
    addresses[i].at.ss_family = static_cast<sa_family_t>(families[i]);
    addresses[i].size = static_cast<socklen_t>(i);
  }
  std::vector<int> order;
  for (const TcpAddress& each : TakeTurns(addresses)) order.push_back(static_cast<int>(each.size));
  EXPECT_EQ(order, (std::vector<int>{0, 3, 1, 4, 2}));
  EXPECT_TRUE(TakeTurns({}).empty());
}

}  // namespace
}  // namespace stoker
