"""The same tensors in other layouts and of other extents: what samples leave out."""

from collections.abc import Callable

import torch


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """With the same strides and offset, in its own storage."""
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.device.type != 'cpu':
        return tensor.detach().clone()
    copy = torch.empty(0, dtype=tensor.dtype)
    copy.set_(tensor.untyped_storage().clone(), tensor.storage_offset(), tensor.shape, tensor.stride())
    if tensor.is_conj():
        copy = torch._conj(copy)
    return torch._neg_view(copy) if tensor.is_neg() else copy


def transposed(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.transpose(0, -1).contiguous().transpose(0, -1) if tensor.dim() > 1 else tensor


def stepped(tensor: torch.Tensor) -> torch.Tensor:
    """Every second element of a larger tensor, behind an offset."""
    if tensor.dim() == 0:
        return torch.stack([tensor, tensor])[1]
    wide = tensor.new_zeros((*tensor.shape[:-1], 2 * tensor.shape[-1] + 1))
    wide[..., 1::2] = tensor
    return wide[..., 1::2]


def expanded(tensor: torch.Tensor) -> torch.Tensor:
    """The first slice over and over: stride 0."""
    return tensor[:1].expand(tensor.shape) if tensor.dim() and tensor.shape[0] > 1 else tensor


def expanded_rows(tensor: torch.Tensor) -> torch.Tensor:
    """Stride 0 in the innermost dimension."""
    return tensor[..., :1].expand(tensor.shape) if tensor.dim() > 1 and tensor.shape[-1] > 1 else tensor


def channels_last(tensor: torch.Tensor) -> torch.Tensor:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return tensor.contiguous(memory_format=formats[tensor.dim()]) if tensor.dim() in formats else tensor


def empty_first(tensor: torch.Tensor) -> torch.Tensor:
    return tensor[:0] if tensor.dim() else tensor


def empty_last(tensor: torch.Tensor) -> torch.Tensor:
    return tensor[..., :0] if tensor.dim() else tensor


def without_dims(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.flatten()[0] if tensor.numel() and tensor.dim() else tensor


def longer(tensor: torch.Tensor) -> torch.Tensor:
    """More than a vector register, and no multiple of one."""
    return torch.cat([tensor] * 11) if tensor.dim() and tensor.shape[0] else tensor


MOST_ELEMENTS = 1000

LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    'transposed': transposed, 'stepped': stepped, 'expanded': expanded, 'expanded rows': expanded_rows,
    'channels last': channels_last, 'empty first': empty_first, 'empty last': empty_last,
    'without dims': without_dims, 'longer': longer,
}


def relaid(tensors: tuple[torch.Tensor, ...], name: str) -> tuple[torch.Tensor, ...] | None:
    """None where that layout is the one they have, or would be too large to run for every planner."""
    if name == 'longer' and sum(tensor.numel() for tensor in tensors) > MOST_ELEMENTS:
        return None
    if any(tensor.layout != torch.strided or tensor.is_quantized for tensor in tensors):
        return None
    changed = tuple(LAYOUTS[name](tensor) for tensor in tensors)
    same = all(layout_of(a) == layout_of(b) for a, b in zip(changed, tensors))
    return None if same else changed


def layout_of(tensor: torch.Tensor) -> tuple:
    return (tensor.shape, tensor.stride(), tensor.storage_offset())
