#pragma once

#include "core/result.hpp"

#include <future>
#include <memory>
#include <utility>

namespace lycosa::actors {

/// Calls a node and blocks until its answer. The node answers every request, also when it stops.
/// `call` is given the function that takes the answer. Not for the node's own threads.
template <class Answer, class Call>
result<Answer> wait_for(Call&& call) {
  auto promise = std::make_shared<std::promise<result<Answer>>>();
  auto answer = promise->get_future();
  call([promise](result<Answer> got) { promise->set_value(std::move(got)); });
  return answer.get();
}

} // namespace lycosa::actors
