// The sentence of an error that LibTorch's interpreter throws.
#pragma once

#include <string>

namespace sr::tool {

// Returns the message without the traceback of many lines that the interpreter puts before it.
inline std::string last_line(std::string message) {
  while (!message.empty() && message.back() == '\n') message.pop_back();
  if (message.find("Traceback of TorchScript") != std::string::npos)
    message.erase(0, message.rfind('\n') + 1);
  return message;
}

}  // namespace sr::tool
