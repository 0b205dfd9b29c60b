// SPDX-License-Identifier: Apache-2.0
//
// Godwit from C++17: owners for the handles of godwit.h. Errors are exceptions; everything else is as godwit.h says.
//
//   godwit::Card card("sim:default");
//   godwit::Context context(card);
//   godwit::Array<int64_t> values(context, 1000);
//   std::iota(values.begin(), values.end(), 0);
//   auto done = context.launch("array_sum", {{"values", values.data()}, {"count", values.size()}, {"dtype", 1}});
//   std::cout << done["sum"] << " in " << done.cycles() << " cycles\n";
#ifndef GODWIT_HPP_
#define GODWIT_HPP_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit.h"

namespace godwit {

/// A failed call: `what()` says what to do, `status()` is one of enum godwit_status.
class Error : public std::runtime_error {
   public:
    Error(int status, const char* message, std::uint32_t refusal = GODWIT_NOT_REFUSED)
        : std::runtime_error(message), status_(status), refusal_(refusal) {}
    int status() const noexcept { return status_; }
    /// Why the heap in hardware refused, one of godwit_refusal, if that was it.
    std::uint32_t refusal() const noexcept { return refusal_; }

   private:
    int status_;
    std::uint32_t refusal_;
};

/// Throws the last error unless `status` is GODWIT_OK.
inline void check(int status) {
    if (status != GODWIT_OK) throw Error(status, godwit_last_error(), godwit_last_refusal());
}

/// An open card.
class Card {
   public:
    explicit Card(const std::string& device, const char* options = nullptr) {
        godwit_card* card = nullptr;
        check(godwit_open(device.c_str(), options, &card));
        handle_.reset(card);
    }

    std::string describe() const { return godwit_describe(get()); }

    godwit_stats stats() const {
        godwit_stats stats;
        check(godwit_get_stats(get(), &stats));
        return stats;
    }

    /// The hardware's counters by name ("walker.walks", "port0.read.hits"), all as of one cycle.
    std::map<std::string, std::uint64_t> counters() {
        std::vector<std::uint64_t> values(godwit_counter_count(get()));
        check(godwit_get_counters(get(), values.data(), values.size(), nullptr));
        std::map<std::string, std::uint64_t> found;
        for (std::size_t i = 0; i < values.size(); ++i) found.emplace(godwit_counter_name(get(), i), values[i]);
        return found;
    }

    /// One of them.
    std::uint64_t counter(const std::string& name) {
        std::uint64_t value = 0;
        check(godwit_get_counter(get(), name.c_str(), &value));
        return value;
    }

    void clear_counters() { check(godwit_clear_counters(get())); }
    /// Counts, of events that belong to a context, only those of one; of all contexts with none.
    void count_only(const godwit_context* context = nullptr) { check(godwit_count_only(get(), context)); }

    std::uint64_t memory_free() const {
        std::uint64_t free_bytes = 0;
        check(godwit_memory_free(get(), &free_bytes, nullptr));
        return free_bytes;
    }

    /// Its memories; GODWIT_MEMORY(number) among AllocOptions::flags chooses one.
    std::vector<godwit_memory_info> memories() const {
        std::vector<godwit_memory_info> found(godwit_memory_count(get()));
        for (std::size_t number = 0; number < found.size(); ++number) check(godwit_get_memory_info(get(), number, &found[number]));
        return found;
    }

    /// Sets device memory aside for contiguous memory: what the process's pool opens on it with, cmt_init().
    std::string cmt_config(std::uint64_t bytes) {
        char config[128];
        check(godwit_cmt_config(get(), bytes, config, sizeof(config)));
        return config;
    }

    godwit_card* get() const noexcept { return handle_.get(); }

   private:
    struct Close {
        void operator()(godwit_card* card) const noexcept { godwit_close(card); }
    };
    std::unique_ptr<godwit_card, Close> handle_;
};

/// A kernel's argument: a number, or a pointer into a buffer of the context.
class Arg {
   public:
    template <typename T>
    Arg(const char* name, T* pointer) : arg_(godwit_pointer(name, pointer)) {}
    Arg(const char* name, std::nullptr_t) : arg_(godwit_pointer(name, nullptr)) {}
    template <typename T, std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>, int> = 0>
    Arg(const char* name, T number) : arg_(godwit_number(name, static_cast<std::uint64_t>(number))) {}

    const godwit_arg& raw() const noexcept { return arg_; }

   private:
    godwit_arg arg_;
};

/// What a kernel has done.
class Completion {
   public:
    explicit Completion(const godwit_completion& raw) : raw_(raw) {}

    std::uint64_t cycles() const noexcept { return raw_.cycles; }
    std::uint64_t time_ps() const noexcept { return raw_.time_ps; }
    std::uint64_t start_cycle() const noexcept { return raw_.start_cycle; }
    std::uint64_t end_cycle() const noexcept { return raw_.end_cycle; }
    const godwit_completion& raw() const noexcept { return raw_; }

    /// The result register `name`.
    std::uint64_t operator[](const char* name) const {
        std::uint64_t value = 0;
        check(godwit_get_result(&raw_, name, &value));
        return value;
    }

   private:
    godwit_completion raw_;
};

/// A kernel ended and says that it failed: `completion()` has what it gave.
class StatusError : public Error {
   public:
    explicit StatusError(const godwit_completion& raw) : Error(GODWIT_ESTATUS, godwit_last_error()), completion_(raw) {}
    const Completion& completion() const noexcept { return completion_; }

   private:
    Completion completion_;
};

/// The completion of a launch that returned `status`; throws unless it is GODWIT_OK.
inline Completion completed(int status, const godwit_completion& raw) {
    if (status == GODWIT_ESTATUS) throw StatusError(raw);
    check(status);
    return Completion(raw);
}

/// How a launch is made.
struct LaunchOptions {
    bool bare = false;                 ///< physical addresses and no translation, to compare
    std::uint64_t timeout_cycles = 0;  ///< stops the kernel so many cycles after its start; 0: no limit
    bool check_status = true;          ///< a kernel that says that it failed throws StatusError

    std::uint32_t flags() const noexcept {
        return (bare ? std::uint32_t{GODWIT_BARE} : 0) | (check_status ? 0 : std::uint32_t{GODWIT_ALLOW_STATUS});
    }
};

/// A kernel at work, or waiting behind launches of the same kernel; destroyed before its end, it is cancelled.
class Launch {
   public:
    /// Waits for the end; throws what Context::launch would. Any number of threads may wait, and wait again.
    Completion wait() {
        godwit_completion done;
        return completed(godwit_wait(get(), 0, &done), done);
    }

    /// The same for at most so many cycles of the card; nothing when they were over first.
    std::optional<Completion> wait_cycles(std::uint64_t max_cycles) { return within(godwit_wait, max_cycles ? max_cycles : 1); }
    /// ... for so much time of this process.
    template <typename Rep, typename Period>
    std::optional<Completion> wait_for(std::chrono::duration<Rep, Period> time) {
        const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
        return within(godwit_wait_ns, ns > 0 ? static_cast<std::uint64_t>(ns) : 0);
    }

    /// Whether it has ended; no simulated time passes.
    bool ended() const noexcept { return godwit_is_ended(get()) != 0; }

    /// Stops it; whether its kernel stands still.
    bool cancel() {
        int stopped = 0;
        check(godwit_cancel(get(), &stopped));
        return stopped != 0;
    }

    godwit_job* get() const noexcept { return handle_.get(); }

   private:
    friend class Context;
    struct Release {
        void operator()(godwit_job* job) const noexcept { godwit_release(job); }
    };

    explicit Launch(godwit_job* job) : handle_(job) {}

    template <typename Wait>
    std::optional<Completion> within(Wait wait, std::uint64_t limit) {
        godwit_completion done;
        const int status = wait(get(), limit, &done);
        if (status == GODWIT_RUNNING) return std::nullopt;
        return completed(status, done);
    }

    std::unique_ptr<godwit_job, Release> handle_;
};

/// One address space on a card, which must outlive it.
class Context {
   public:
    explicit Context(Card& card, godwit_mode mode = GODWIT_WIDEST) {
        godwit_context* context = nullptr;
        check(godwit_context_create(card.get(), mode, &context));
        handle_.reset(context);
    }

    Completion launch(const char* kernel, std::initializer_list<Arg> args, LaunchOptions options = {}) {
        const std::vector<godwit_arg> raw = raw_args(args);
        godwit_completion done;
        return completed(godwit_launch(get(), kernel, raw.data(), raw.size(), options.flags(), options.timeout_cycles, &done), done);
    }

    /// Starts a launch, or queues it behind those of the same kernel that came before.
    Launch start(const char* kernel, std::initializer_list<Arg> args, LaunchOptions options = {}) {
        const std::vector<godwit_arg> raw = raw_args(args);
        godwit_job* job = nullptr;
        check(godwit_start(get(), kernel, raw.data(), raw.size(), options.flags(), options.timeout_cycles, &job));
        return Launch(job);
    }

    /// What moved of the program's memory since the start of the process, by name: godwit_migrated().
    std::uint64_t migrated(const char* name) const {
        std::uint64_t value = 0;
        check(godwit_migrated(get(), name, &value));
        return value;
    }

    std::uint64_t table_bytes() const {
        std::uint64_t bytes = 0;
        check(godwit_context_table_bytes(get(), &bytes));
        return bytes;
    }

    godwit_context* get() const noexcept { return handle_.get(); }

   private:
    static std::vector<godwit_arg> raw_args(std::initializer_list<Arg> args) {
        std::vector<godwit_arg> raw;
        for (const Arg& arg : args) raw.push_back(arg.raw());
        return raw;
    }

    struct Destroy {
        void operator()(godwit_context* context) const noexcept { godwit_context_destroy(context); }
    };
    std::unique_ptr<godwit_context, Destroy> handle_;
};

/// How device memory is chosen.
struct AllocOptions {
    std::uint64_t page_bytes = 0;  ///< 0: the largest pages that fit; else the one size to use
    std::uint32_t flags = 0;       ///< of enum godwit_alloc_flags
};

/// Elements in memory of the heap in hardware (godwit_malloc()): zeros at first, frames when somebody writes. It grows and shrinks where
/// it is, so data() stays. The context must outlive it.
template <typename T>
class HeapArray {
    static_assert(std::is_trivially_copyable_v<T>, "device memory holds plain data");

   public:
    HeapArray(Context& context, std::size_t size, std::uint64_t granule_bytes = 0, std::uint32_t flags = 0)
        : context_(context.get()), size_(size) {
        void* first = nullptr;
        check(godwit_malloc(context_, bytes(size), granule_bytes, flags, &first));
        data_ = static_cast<T*>(first);
    }
    /// What a kernel allocated by itself at `address` in this context, `size` elements.
    static HeapArray adopt(Context& context, std::uint64_t address, std::size_t size) {
        void* first = nullptr;
        check(godwit_adopt(context.get(), address, bytes(size), &first));
        return HeapArray(context.get(), static_cast<T*>(first), size);
    }
    HeapArray(HeapArray&& other) noexcept
        : context_(other.context_), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    HeapArray& operator=(HeapArray&& other) noexcept {
        std::swap(context_, other.context_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~HeapArray() {
        if (data_) godwit_release_memory(context_, data_);
    }

    void resize(std::size_t size) {
        check(godwit_realloc(context_, data_, bytes(size)));
        size_ = size;
    }

    /// Takes the frames of `count` elements from `first` on, so that no store of them finds the heap full: throws instead.
    void populate(std::size_t first, std::size_t count) {
        if (first > size_ || count > size_ - first) throw std::out_of_range("godwit::HeapArray: populate");
        check(godwit_populate(context_, data_ + first, count * sizeof(T)));
    }

    T* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    T* begin() const noexcept { return data_; }
    T* end() const noexcept { return data_ + size_; }
    T& operator[](std::size_t index) const noexcept { return data_[index]; }

   private:
    HeapArray(godwit_context* context, T* data, std::size_t size) : context_(context), data_(data), size_(size) {}

    static std::size_t bytes(std::size_t size) {
        if (size > SIZE_MAX / sizeof(T)) throw std::length_error("godwit::HeapArray: size");
        return size * sizeof(T);
    }

    godwit_context* context_;
    T* data_ = nullptr;
    std::size_t size_;
};

/// Gives a buffer back.
struct FreeBuffer {
    void operator()(godwit_buffer* buffer) const noexcept { godwit_free(buffer); }
};

/// `size` elements of device memory at one address for kernels and this process, zeroed at first.
template <typename T>
class Array {
    static_assert(std::is_trivially_copyable_v<T>, "device memory holds plain data");

   public:
    Array(Context& context, std::size_t size, AllocOptions options = {}) : size_(size) {
        if (size == 0 || size > SIZE_MAX / sizeof(T)) throw std::length_error("godwit::Array: size");
        godwit_buffer* buffer = nullptr;
        check(godwit_alloc(context.get(), size * sizeof(T), options.page_bytes, options.flags, &buffer));
        handle_.reset(buffer);
    }

    T* data() const noexcept { return static_cast<T*>(godwit_data(handle_.get())); }
    std::size_t size() const noexcept { return size_; }
    T* begin() const noexcept { return data(); }
    T* end() const noexcept { return data() + size_; }
    T& operator[](std::size_t index) const noexcept { return data()[index]; }

    /// Copies over the modelled host link; access through data() takes no simulated time.
    void upload(const T* from, std::size_t count, std::size_t first = 0) {
        check(godwit_upload(handle_.get(), first * sizeof(T), from, count * sizeof(T)));
    }
    void download(T* to, std::size_t count, std::size_t first = 0) const {
        check(godwit_download(handle_.get(), first * sizeof(T), to, count * sizeof(T)));
    }

    godwit_buffer* get() const noexcept { return handle_.get(); }

   private:
    std::unique_ptr<godwit_buffer, FreeBuffer> handle_;
    std::size_t size_;
};

/// How memory of the program is given to kernels.
struct ShareOptions {
    std::uint64_t page_bytes = 0;    ///< 0: the largest pages that fit; else the largest to use
    std::uint32_t flags = 0;         ///< GODWIT_READ_ONLY, GODWIT_RANGES, GODWIT_NO_RANGES
    godwit_in_use in_use = nullptr;  ///< whether the memory is still the program's: godwit_block_in_use for blocks of cmt.h
};

/// Memory of the program that lies in the card's memory, such as a block of contiguous memory: kernels use it where it is, as
/// long as this lives. The memory stays its owner's, who must keep it so long.
class Shared {
   public:
    Shared(Context& context, void* memory, std::size_t bytes, ShareOptions options = {}) {
        godwit_buffer* buffer = nullptr;
        check(godwit_share(context.get(), memory, bytes, options.page_bytes, options.flags, options.in_use, &buffer));
        handle_.reset(buffer);
    }

    /// How many entries of the range TLB it has.
    std::size_t range_entries() const {
        std::size_t count = 0;
        check(godwit_range_entries(get(), &count));
        return count;
    }

    godwit_buffer* get() const noexcept { return handle_.get(); }

   private:
    std::unique_ptr<godwit_buffer, FreeBuffer> handle_;
};

/// Plain memory of the program, from malloc, a container or anywhere, that kernels use: its pages move to the card when a kernel touches
/// them and back when the program does (docs/shared-memory.md). Pointers into it are arguments, as long as this lives. The memory stays its
/// owner's, who must neither free nor move it so long.
template <typename T>
class Used {
    static_assert(std::is_trivially_copyable_v<T>, "kernels understand plain data");

   public:
    Used(Context& context, T* data, std::size_t size) : context_(context.get()), data_(data), size_(size) {
        if (size > SIZE_MAX / sizeof(T)) throw std::length_error("godwit::Used: size");
        check(godwit_use(context_, data, size * sizeof(T)));
    }
    /// All of a container whose elements are in a row; it must not grow meanwhile.
    template <typename Container, typename = decltype(std::declval<Container&>().data())>
    Used(Context& context, Container& container) : Used(context, container.data(), container.size()) {}
    Used(Used&& other) noexcept
        : context_(other.context_), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Used& operator=(Used&& other) noexcept {
        std::swap(context_, other.context_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Used() {
        if (data_) godwit_forget(context_, data_);
    }

    /// Brings pages to the card, or throws: they have no room there. Or brings them home.
    void migrate_to_device() { check(godwit_migrate_to_device(context_, data_, bytes())); }
    void migrate_to_host() { check(godwit_migrate_to_host(context_, data_, bytes())); }

    /// Hints: what cannot be done is not done.
    void prefetch() { check(godwit_prefetch(context_, data_, bytes())); }
    void advise(godwit_advice advice) { check(godwit_advise(context_, data_, bytes(), advice)); }
    void discard() { check(godwit_discard(context_, data_, bytes())); }

    /// Bytes of its pages that the card has.
    std::size_t residency() const {
        std::size_t found = 0;
        check(godwit_residency(context_, data_, bytes(), &found));
        return found;
    }

    T* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

   private:
    std::size_t bytes() const noexcept { return size_ * sizeof(T); }

    godwit_context* context_;
    T* data_ = nullptr;
    std::size_t size_;
};

template <typename Container>
Used(Context&, Container&) -> Used<typename Container::value_type>;

}  // namespace godwit

#endif  // GODWIT_HPP_
