#include "core/jobs/value_text.hpp"

#include "core/jobs/member_reader.hpp"

namespace lycosa::jobs {

std::string value_text(std::string answer) {
  if (answer.empty() || detail::json::accept(answer)) return answer;
  return detail::dump(detail::json(std::move(answer)));
}

} // namespace lycosa::jobs
