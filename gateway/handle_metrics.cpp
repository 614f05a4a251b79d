#include "gateway/handlers.hpp"
#include "gateway/metrics_text.hpp"
#include "gateway/session.hpp"

namespace lycosa::gateway {

/// Asks the shards and the job scheduler, once each, and no project. A part that does not answer
/// does not hide the others: when something is wrong is when they are looked at.
void show_metrics(service& s, const request&, const exchange_ptr& x) {
  struct scrape {
    actors::node& node;
    std::size_t projects;
    std::string version;
    std::weak_ptr<shared_state> front;
    result<actors::health_view> health;
  };
  auto what = std::make_shared<scrape>(
      scrape{s.node, s.metrics_projects, s.version, s.front, actors::health_view{}});
  s.node.health([what, x](result<actors::health_view> health) {
    what->health = std::move(health);
    what->node.jobs().statistics([what, x](result<actors::job_statistics> jobs) {
      const auto known = std::make_shared<result<actors::job_statistics>>(std::move(jobs));
      x->answer([what, known] {
        metrics_input in;
        in.node = what->node.metrics(what->projects);
        if (what->health) in.health = std::move(*what->health);
        if (*known) in.jobs = std::move(**known);
        in.process = look_at_process();
        in.version = what->version;
        const auto front = what->front.lock();
        in.front = front.get();
        response r;
        r.content_type = "text/plain; version=0.0.4; charset=utf-8";
        r.body = metrics_text(in);
        return r;
      });
    });
  });
}

} // namespace lycosa::gateway
