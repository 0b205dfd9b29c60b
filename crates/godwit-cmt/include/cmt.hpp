// SPDX-License-Identifier: Apache-2.0
// C++ on cmt.h: an allocator for containers, a polymorphic memory resource, and an owner of one contiguous block.
#ifndef GODWIT_CMT_HPP_
#define GODWIT_CMT_HPP_

#include <cmt.h>

#include <memory_resource>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>

namespace cmt {

/// Memory does not suffice; what() says what was asked for and what there is.
class bad_alloc : public std::bad_alloc {
  public:
	bad_alloc() noexcept : reason_(cmt_reason()) {}
	/// Of the thread's last failure, valid until its next one.
	const char *what() const noexcept override { return reason_; }

  private:
	const char *reason_;
};

inline void *allocate(std::size_t bytes, std::size_t align)
{
	void *block = cmt_aligned_alloc(align, bytes);
	if (!block)
		throw bad_alloc();
	return block;
}

/// For containers: std::vector<float, cmt::allocator<float>>.
template <typename T> struct allocator {
	using value_type = T;

	allocator() noexcept = default;
	template <typename U> allocator(const allocator<U> &) noexcept {}

	T *allocate(std::size_t count)
	{
		if (count > static_cast<std::size_t>(-1) / sizeof(T))
			throw std::bad_array_new_length();
		return static_cast<T *>(cmt::allocate(count * sizeof(T), alignof(T)));
	}
	void deallocate(T *block, std::size_t) noexcept { cmt_free(block); }

	template <typename U> bool operator==(const allocator<U> &) const noexcept { return true; }
};

/// For std::pmr containers; one object serves all of them.
class memory_resource : public std::pmr::memory_resource {
	void *do_allocate(std::size_t bytes, std::size_t align) override { return cmt::allocate(bytes, align); }
	void do_deallocate(void *block, std::size_t, std::size_t) override { cmt_free(block); }
	bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
	{
		return dynamic_cast<const memory_resource *>(&other) != nullptr;
	}
};

/// One contiguous block.
class block {
  public:
	explicit block(std::size_t bytes, const cmt_constraints &limits = {0, 0, 0, CMT_ANY_NODE, 0})
	    : start_(static_cast<std::byte *>(cmt_alloc_contiguous(bytes, &limits))), bytes_(bytes)
	{
		if (!start_)
			throw bad_alloc();
	}
	block(block &&other) noexcept
	    : start_(std::exchange(other.start_, nullptr)), bytes_(std::exchange(other.bytes_, 0))
	{
	}
	block &operator=(block &&other) noexcept
	{
		std::swap(start_, other.start_);
		std::swap(bytes_, other.bytes_);
		return *this;
	}
	~block() { cmt_free(start_); }

	std::span<std::byte> bytes() const noexcept { return {start_, bytes_}; }
	std::uint64_t physical() const noexcept { return cmt_physical(start_); }
	/// Where it is, or not at all.
	bool grow(std::size_t bytes) noexcept
	{
		bool grown = cmt_expand(start_, bytes);
		if (grown && bytes > bytes_)
			bytes_ = bytes;
		return grown;
	}

  private:
	std::byte *start_;
	std::size_t bytes_;
};

} // namespace cmt

#endif // GODWIT_CMT_HPP_
