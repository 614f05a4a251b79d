#include "gateway/handlers.hpp"
#include "gateway/metrics_text.hpp"
#include "gateway/session.hpp"

#include <chrono>

namespace lycosa::gateway {

/// Asks the shards and the job scheduler, once each, and no project. A part that does not answer
/// does not hide the others: when something is wrong is when they are looked at.
void show_metrics(service& s, const request&, const exchange_ptr& x) {
  using clock = std::chrono::steady_clock;
  struct scrape {
    actors::node& node;
    std::size_t projects;
    std::weak_ptr<shared_state> front;
    clock::time_point asked;
    metrics_input in;
  };
  auto what = std::make_shared<scrape>(
      scrape{s.node, s.metrics_projects, s.front, clock::now(), metrics_input{}});
  what->in.version = s.version;
  s.node.health([what, x](result<actors::health_view> health) {
    const auto now = clock::now();
    if (health) {
      what->in.health = std::move(*health);
      what->in.shards_took = now - what->asked;
    }
    what->asked = now;
    what->node.jobs().statistics([what, x](result<actors::job_statistics> jobs) {
      if (jobs) {
        what->in.jobs = std::move(*jobs);
        what->in.jobs_took = clock::now() - what->asked;
      }
      x->answer([what] {
        auto& in = what->in;
        in.node = what->node.metrics(what->projects);
        in.process = look_at_process();
        const auto front = what->front.lock();
        in.front = front.get();
        response r;
        r.content_type = "text/plain; version=0.0.4; charset=utf-8";
        r.body = metrics_text(in);
        in.front = nullptr;
        return r;
      });
    });
  });
}

void show_metrics_alone(const std::string& version, const std::weak_ptr<shared_state>& server,
                        const exchange_ptr& x) {
  x->answer([version, server] {
    metrics_input in;
    in.version = version;
    in.process = look_at_process();
    const auto front = server.lock();
    in.front = front.get();
    response r;
    r.content_type = "text/plain; version=0.0.4; charset=utf-8";
    r.body = metrics_text(in);
    return r;
  });
}

} // namespace lycosa::gateway
