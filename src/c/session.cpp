#include <map>
#include <string>
#include <utility>

#include <ATen/core/Dict.h>

#include "handles.hpp"

using namespace sr::c;

namespace {

template <class Make>
sr_status make_session(sr_session** session, const Make& make) {
  return make_handle(session, "session", [&] { return new sr_session{make()}; });
}

}  // namespace

sr_status sr_session_new(const sr_module* module, sr_session** session) {
  return make_session(session, [&] {
    require(module, "module");
    return module->module.session();
  });
}

sr_status sr_session_new_carried(const sr_module* module, const char* const* names, const size_t* results,
                                 size_t count, sr_session** session) {
  return make_session(session, [&] {
    require(module, "module");
    std::map<std::string, std::size_t> carried;
    for (size_t i = 0; i < count; ++i) {
      require(names, "names");
      require(names[i], "names");
      require(results, "results");
      if (!carried.emplace(names[i], results[i]).second)
        throw sr::ArgumentError("The argument '" + std::string(names[i]) + "' is carried twice.", names[i]);
    }
    return module->module.session(carried);
  });
}

sr_status sr_session_method(const sr_session* session, const char* name, sr_session** method) {
  return make_session(method, [&] {
    require(session, "session");
    require(name, "name");
    return session->session.method(name);
  });
}

sr_status sr_session_clone(const sr_session* session, sr_session** clone) {
  return make_session(clone, [&] {
    require(session, "session");
    return session->session.clone();
  });
}

sr_status sr_session_call(const sr_session* session, const sr_value* args, size_t count,
                          const sr_call_options* options, sr_results** results) {
  if (session == nullptr) return fail(SR_ARGUMENT, "The parameter `session` is null.");
  return call(session->session, session->session.schema(), args, count, options, results);
}

sr_status sr_session_call_into(const sr_session* session, const sr_value* args, size_t count,
                               const sr_tensor* outputs, size_t output_count) {
  if (session == nullptr) return fail(SR_ARGUMENT, "The parameter `session` is null.");
  return call_into(session->session, session->session.schema(), args, count, outputs, output_count);
}

sr_status sr_session_reset(const sr_session* session) {
  return guarded([&] {
    require(session, "session");
    session->session.reset();
  });
}

sr_status sr_session_state(const sr_session* session, sr_results** state) {
  return guarded([&] {
    require(session, "session");
    require(state, "state");
    *state = nullptr;
    c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
    for (auto& [name, value] : session->session.state()) dict.insert(name, value);
    *state = new sr_results(dict);
  });
}

sr_status sr_session_load(const sr_session* session, const sr_value* state, int32_t strict) {
  return guarded([&] {
    require(session, "session");
    require(state, "state");
    if (state->kind != SR_DICT)
      throw sr::ArgumentError("The state is of kind " + std::to_string(state->kind) +
                              ", but is a dict of names.");
    sr::NamedState named;
    for (const auto& entry : read_value(*state, "state").toGenericDict())
      named.emplace(entry.key().toStringRef(), entry.value());
    session->session.load(named, strict != 0);
  });
}

sr_status sr_session_bind(const sr_session* session, const sr_value* args, size_t count,
                          const sr_tensor* outputs, size_t output_count, sr_bound** bound) {
  return make_handle(bound, "bound", [&] {
    require(session, "session");
    Arguments read = read_arguments(session->session.schema(), args, count, {});
    return new sr_bound{
        session->session.bind(std::move(read.values), lasting_tensors(outputs, output_count))};
  });
}

void sr_session_free(sr_session* session) {
  delete session;
}
