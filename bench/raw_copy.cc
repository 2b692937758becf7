// SPDX-License-Identifier: Apache-2.0
// The least that a copy over a socket can cost: sendfile up, recv and pwrite down, nothing signed,
// nothing checked. What the bench compares clients with besides each other.
//
//   raw_copy up PORT CONNECTIONS FOLDER BUCKET      every file of FOLDER, by name
//   raw_copy down PORT CONNECTIONS FOLDER BUCKET    the same back, of the sizes that they have
// A file of more than 64 MiB is split among the connections.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int64_t kPiece = 64 << 20;
constexpr size_t kBuffer = 256 << 10;

std::mutex g_writing;

struct Piece {
  std::string name;
  int64_t offset = 0, size = 0, whole = 0;
};

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

int Connect(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) Fail("connect");
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

// Reads a head; returns what came behind it.
std::string Head(int fd) {
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    if (got <= 0) Fail("recv");
    text.append(buffer, static_cast<size_t>(got));
    const size_t end = text.find("\r\n\r\n");
    if (end != std::string::npos) return text.substr(end + 4);
  }
}

void Up(int fd, int file, const Piece& piece, const std::string& bucket) {
  std::string path = "/" + bucket + "/" + piece.name;
  if (piece.size != piece.whole) {
    path +=
        "?partNumber=" + std::to_string(piece.offset / kPiece + 1) + "&uploadId=raw-" + piece.name;
  }
  const std::string head =
      "PUT " + path + " HTTP/1.1\r\nContent-Length: " + std::to_string(piece.size) + "\r\n\r\n";
  if (send(fd, head.data(), head.size(), MSG_MORE) < 0) Fail("send");
  off_t at = piece.offset;
  while (at < piece.offset + piece.size) {
    const auto want = static_cast<size_t>(piece.offset + piece.size - at);
    if (sendfile(fd, file, &at, want) <= 0) Fail("sendfile");
  }
  Head(fd);
}

void Down(int fd, int file, const Piece& piece, const std::string& bucket, char* buffer) {
  const std::string head = "GET /" + bucket + "/" + piece.name +
                           " HTTP/1.1\r\nRange: bytes=" + std::to_string(piece.offset) + "-" +
                           std::to_string(piece.offset + piece.size - 1) + "\r\n\r\n";
  if (send(fd, head.data(), head.size(), 0) < 0) Fail("send");
  const std::string ahead = Head(fd);
  int64_t at = piece.offset;
  size_t filled = ahead.size();
  std::memcpy(buffer, ahead.data(), filled);
  const int64_t end = piece.offset + piece.size;
  while (at < end) {
    // Whole buffers, so that the file is written in whole pages.
    const auto want = static_cast<size_t>(std::min<int64_t>(end - at, kBuffer));
    const ssize_t more = recv(fd, buffer + filled, want - filled, MSG_WAITALL);
    if (more < 0 || filled + static_cast<size_t>(more) != want) Fail("recv");
    const auto got = static_cast<ssize_t>(want);
    filled = 0;
    // The kernel lets one writer of a file in at a time, and the others spin.
    std::unique_lock lock(g_writing, std::defer_lock);
    if (piece.size != piece.whole) lock.lock();
    if (pwrite(file, buffer, static_cast<size_t>(got), at) != got) Fail("pwrite");
    at += got;
  }
}

std::vector<Piece> PiecesOf(const std::string& folder) {
  std::vector<Piece> pieces;
  DIR* const open = opendir(folder.c_str());
  if (open == nullptr) Fail(folder.c_str());
  while (const dirent* const entry = readdir(open)) {
    struct stat info {};
    const std::string name = entry->d_name;
    if (stat((folder + "/" + name).c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    for (int64_t at = 0; at < info.st_size; at += kPiece) {
      pieces.push_back({name, at, std::min<int64_t>(kPiece, info.st_size - at), info.st_size});
    }
  }
  closedir(open);
  return pieces;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "raw_copy up|down PORT CONNECTIONS FOLDER BUCKET\n");
    return 2;
  }
  const bool up = std::strcmp(argv[1], "up") == 0;
  const std::string folder = argv[4];
  const std::string into = folder + ".raw";
  const std::vector<Piece> pieces = PiecesOf(folder);
  if (!up) mkdir(into.c_str(), 0777);
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(argv[3]); ++i) {
    threads.emplace_back([&] {
      const int fd = Connect(std::atoi(argv[2]));
      std::vector<char> buffer(kBuffer);
      for (size_t n = next++; n < pieces.size(); n = next++) {
        const Piece& piece = pieces[n];
        const std::string path = (up ? folder : into) + "/" + piece.name;
        const int file = open(path.c_str(), up ? O_RDONLY : O_WRONLY | O_CREAT, 0666);
        if (file < 0) Fail(path.c_str());
        if (up)
          Up(fd, file, piece, argv[5]);
        else
          Down(fd, file, piece, argv[5], buffer.data());
        close(file);
      }
      close(fd);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Piece& piece : pieces) {
    if (!up || piece.offset != 0 || piece.size == piece.whole) continue;
    const int fd = Connect(std::atoi(argv[2]));
    const std::string head = std::string("POST /") + argv[5] + "/" + piece.name + "?uploadId=raw-" +
                             piece.name + " HTTP/1.1\r\n\r\n";
    if (send(fd, head.data(), head.size(), 0) < 0) Fail("send");
    Head(fd);
    close(fd);
  }
}
