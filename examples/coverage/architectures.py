"""The architectures whose coverage is measured. Their packages build them, with random weights; nothing is downloaded."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

Arguments = tuple[torch.Tensor, ...]


class Architecture(NamedTuple):
    name: str
    package: str
    make: Callable[[], nn.Module]  # in evaluation mode; returns tensors or a nest of them
    calls: Callable[[], list[Arguments]]  # of three shapes; the first is exported
    varying: dict[int, tuple[int, ...]]  # dimensions that vary, by the number of the argument


# --- images: timm ---

TIMM = """
resnet18 resnet26d seresnet18 skresnet18 resnest14d res2net50_14w_8s resnext50_32x4d regnetx_002 regnety_002
mobilenetv1_100 mobilenetv2_050 mobilenetv3_small_050 mobilenetv4_conv_small efficientnet_b0 efficientnet_lite0
efficientnetv2_rw_t mnasnet_small ghostnet_050 ghostnetv2_100 mixnet_s lcnet_050 tinynet_e fbnetc_100 spnasnet_100
hardcorenas_a hrnet_w18_small dla46_c densenet121 vgg11_bn xception41 inception_v3 dpn48b selecsls42 cs3darknet_s
ese_vovnet19b_dw hgnetv2_b0 nf_regnet_b0 repvgg_a0 mobileone_s0 repvit_m0_9 fastvit_t8 starnet_s1 inception_next_atto
convnext_atto convnextv2_atto poolformer_s12 vit_tiny_patch16_224 deit_tiny_patch16_224 beit_base_patch16_224
cait_xxs24_224 xcit_nano_12_p16_224 swin_tiny_patch4_window7_224 swinv2_tiny_window8_256 twins_pcpvt_small pvt_v2_b0
mobilevit_xxs mobilevitv2_050 crossvit_tiny_240 convit_tiny levit_128s mixer_s32_224 resmlp_12_224 gmlp_ti16_224
edgenext_xx_small focalnet_tiny_srf efficientformer_l1 efficientvit_b0 efficientvit_m0 coatnet_0_rw_224 davit_tiny
visformer_tiny tiny_vit_5m_224 tnt_s_legacy_patch16_224
""".split()


def make_timm(name: str) -> nn.Module:
    import timm
    return timm.create_model(name, pretrained=False, num_classes=10).eval()


def timm_calls(name: str) -> list[Arguments]:
    import timm
    channels, height, width = timm.get_pretrained_cfg(name).input_size
    return [(torch.randn(batch, channels, height, width),) for batch in (2, 1, 3)]


def of_timm(name: str) -> Architecture:
    return Architecture(name, 'timm', functools.partial(make_timm, name), functools.partial(timm_calls, name), {0: (0,)})


# --- language, sound and images: transformers ---

SMALL = {'hidden_size': 32, 'num_hidden_layers': 2, 'num_attention_heads': 4, 'num_key_value_heads': 2, 'head_dim': 8,
         'intermediate_size': 64, 'vocab_size': 128, 'max_position_embeddings': 128,
         'pad_token_id': 0, 'bos_token_id': 1, 'eos_token_id': 2}

# For each model type, the settings that replace those of SMALL. A setting of None is not passed to the configuration.
ENCODERS = {
    'bert': {}, 'roberta': {}, 'xlm-roberta': {}, 'camembert': {}, 'ernie': {}, 'mpnet': {}, 'deberta': {},
    'deberta-v2': {}, 'modernbert': {}, 'fnet': {}, 'nystromformer': {}, 'splinter': {}, 'layoutlm': {},
    'megatron-bert': {}, 'ibert': {},
    'electra': {'embedding_size': 32},
    'distilbert': {'dim': 32, 'n_layers': 2, 'n_heads': 4, 'hidden_dim': 64},
    'albert': {'embedding_size': 16},
    'mobilebert': {'embedding_size': 32, 'intra_bottleneck_size': 32, 'true_hidden_size': 32},
    'squeezebert': {'embedding_size': 32},
    'convbert': {'embedding_size': 32},
    'roformer': {'embedding_size': 32},
    'rembert': {'input_embedding_size': 16, 'output_embedding_size': 16},
    'xlnet': {'d_model': 32, 'n_head': 4, 'n_layer': 2, 'd_inner': 64, 'max_position_embeddings': None},
    'longformer': {'attention_window': 8},
    'big_bird': {'attention_type': 'original_full'},
}
DECODERS = {
    'gpt2': {}, 'gpt_neox': {}, 'bloom': {}, 'llama': {}, 'mistral': {}, 'qwen2': {}, 'qwen3': {}, 'gemma': {},
    'gemma2': {}, 'phi': {}, 'phi3': {}, 'stablelm': {}, 'starcoder2': {}, 'olmo': {}, 'cohere': {}, 'granite': {},
    'smollm3': {},
    'gpt_neo': {'attention_types': [[['global', 'local'], 1]], 'num_layers': 2, 'num_heads': 4},
    'gptj': {'rotary_dim': 4},
    'opt': {'ffn_dim': 64, 'word_embed_proj_dim': 32},
    'falcon': {'head_dim': None},
    'codegen': {'n_embd': 32, 'n_head': 4, 'n_layer': 2, 'rotary_dim': 4},
    'xglm': {'d_model': 32, 'ffn_dim': 64, 'num_layers': 2, 'attention_heads': 4},
    'mamba': {'state_size': 8},
}
PAIRS = {  # an encoder and a decoder
    'bart': {}, 'mbart': {}, 'pegasus': {}, 'm2m_100': {}, 'blenderbot-small': {},
    't5': {'d_model': 32, 'd_kv': 8, 'd_ff': 64, 'num_layers': 2, 'num_heads': 4},
    'mt5': {'d_model': 32, 'd_kv': 8, 'd_ff': 64, 'num_layers': 2, 'num_heads': 4},
    'marian': {'decoder_start_token_id': 0},
}
PAIR = {'d_model': 32, 'encoder_layers': 2, 'decoder_layers': 2, 'encoder_attention_heads': 4, 'decoder_attention_heads': 4,
        'encoder_ffn_dim': 64, 'decoder_ffn_dim': 64}
# Of a model whose stages have sizes of their own.
OF_STAGES = {'hidden_size': None, 'num_hidden_layers': None, 'num_attention_heads': None, 'num_key_value_heads': None,
             'head_dim': None}
IMAGES = {
    'vit': {'image_size': 32, 'patch_size': 8},
    'deit': {'image_size': 32, 'patch_size': 8},
    'beit': {'image_size': 32, 'patch_size': 8},
    'dinov2': {'image_size': 28, 'patch_size': 14},
    'swin': {'image_size': 32, 'embed_dim': 16, 'depths': [1, 1], 'num_heads': [2, 4], 'window_size': 4} | OF_STAGES,
    'swinv2': {'image_size': 32, 'embed_dim': 16, 'depths': [1, 1], 'num_heads': [2, 4], 'window_size': 4} | OF_STAGES,
    'convnext': {'hidden_sizes': [8, 16, 32, 64], 'depths': [1, 1, 2, 1]} | OF_STAGES,
    'resnet': {'embedding_size': 8, 'hidden_sizes': [8, 16], 'depths': [1, 1]},
    'segformer': {'hidden_sizes': [8, 16, 24, 32], 'depths': [1, 1, 1, 1], 'num_attention_heads': [1, 2, 3, 4]},
    'mobilevit': {'image_size': 64},
    'siglip_vision_model': {'image_size': 32, 'patch_size': 8},
    'clip_vision_model': {'image_size': 32, 'patch_size': 8},
}
SOUNDS = {
    'wav2vec2': {'num_conv_pos_embeddings': 16, 'num_conv_pos_embedding_groups': 2},
    'hubert': {'num_conv_pos_embeddings': 16, 'num_conv_pos_embedding_groups': 2},
    'sew': {'num_conv_pos_embeddings': 16, 'num_conv_pos_embedding_groups': 2},
}


class FirstResult(nn.Module):
    """The last hidden state of a model, which is given its arguments by name."""

    def __init__(self, model: nn.Module, names: tuple[str, ...], **options):
        super().__init__()
        self.model, self.names, self.options = model, names, options

    def forward(self, *arguments):
        return self.model(**dict(zip(self.names, arguments, strict=True)), **self.options, return_dict=False)[0]


def make_transformer(kind: str, settings: dict, names: tuple[str, ...], options: dict) -> nn.Module:
    import transformers
    transformers.logging.set_verbosity_error()
    given = {name: value for name, value in settings.items() if value is not None}
    model = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(kind, **given))
    return FirstResult(model, names, **options).eval()


def text(batch: int, length: int) -> Arguments:
    tokens = torch.randint(3, 120, (batch, length))
    mask = torch.ones(batch, length, dtype=torch.int64)
    if batch > 1:
        mask[1:, length - length // 4:] = 0
    return tokens, mask


def of_text(kind: str, settings: dict, decodes: bool) -> Architecture:
    options = {'use_cache': False} if decodes else {}
    make = functools.partial(make_transformer, kind, SMALL | settings, ('input_ids', 'attention_mask'), options)
    return Architecture(kind, 'transformers', make, lambda: [text(2, 16), text(3, 9), text(1, 24)], {0: (0, 1), 1: (0, 1)})


def of_pair(kind: str, settings: dict) -> Architecture:
    names = ('input_ids', 'attention_mask', 'decoder_input_ids')
    make = functools.partial(make_transformer, kind, SMALL | PAIR | settings, names, {'use_cache': False})

    def calls():
        return [(*text(2, 16), text(2, 7)[0]), (*text(3, 9), text(3, 5)[0]), (*text(1, 24), text(1, 11)[0])]
    return Architecture(kind, 'transformers', make, calls, {0: (0, 1), 1: (0, 1), 2: (0, 1)})


def of_images(kind: str, settings: dict) -> Architecture:
    size = settings.get('image_size', 64)
    make = functools.partial(make_transformer, kind, SMALL | settings, ('pixel_values',), {})
    return Architecture(kind, 'transformers', make, lambda: [(torch.randn(n, 3, size, size),) for n in (2, 1, 3)], {0: (0,)})


def of_sound(kind: str, settings: dict) -> Architecture:
    small = SMALL | {'conv_dim': (16, 16, 16), 'conv_stride': (5, 2, 2), 'conv_kernel': (10, 3, 2),
                     'num_feat_extract_layers': 3}
    make = functools.partial(make_transformer, kind, small | settings, ('input_values',), {})
    return Architecture(kind, 'transformers', make,
                        lambda: [(torch.randn(*sizes),) for sizes in ((2, 800), (1, 640), (3, 1200))], {0: (0, 1)})


# --- recommenders: deepctr-torch ---

RECOMMENDERS = """DeepFM xDeepFM WDL DCN DCNMix AFM NFM PNN AutoInt FiBiNET CCPM ONN AFN DIFM IFM MLR DIN DIEN ESMM MMOE
PLE SharedBottom""".split()
TASKS = ('ESMM', 'MMOE', 'PLE', 'SharedBottom')
HISTORY = 10  # the longest


def recommender_columns(name: str) -> list:
    from deepctr_torch.inputs import DenseFeat, SparseFeat, VarLenSparseFeat
    ids = [SparseFeat(f'id{i}', 50, embedding_dim=8) for i in range(6)]
    if name in ('AFM', 'CCPM'):
        return ids
    if name in ('DIN', 'DIEN'):
        seen = SparseFeat('hist_id0', 50, embedding_dim=8, embedding_name='id0')
        return [*ids, VarLenSparseFeat(seen, HISTORY, length_name='length')]
    return [*ids, *(DenseFeat(f'number{i}', 1) for i in range(4))]


def make_recommender(name: str) -> nn.Module:
    from deepctr_torch import models
    columns = recommender_columns(name)
    options = {'device': 'cpu'}
    if name in TASKS:
        options |= {'task_types': ['binary', 'binary'], 'task_names': ['click', 'buy']}
    kind = getattr(models.multitask if name in TASKS else models, name)
    if name in ('DIN', 'DIEN'):
        return kind(columns, ['id0'], **options).eval()
    one_list = name in TASKS or name in ('PNN', 'MLR')
    return (kind(columns, **options) if one_list else kind(columns, columns, **options)).eval()


def recommender_calls(name: str) -> list[Arguments]:
    def rows(batch):
        ids = torch.randint(1, 50, (batch, 6)).float()
        if name in ('AFM', 'CCPM'):
            return (ids,)
        if name not in ('DIN', 'DIEN'):
            return (torch.cat([ids, torch.randn(batch, 4)], 1),)
        length = torch.randint(1, HISTORY + 1, (batch, 1))
        seen = torch.randint(1, 50, (batch, HISTORY)) * (torch.arange(HISTORY) < length)
        return (torch.cat([ids, seen.float(), length.float()], 1),)
    least = 2 if name == 'DCNMix' else 1  # eager raises for one row: DCNMix squeezes its dimension away
    return [rows(8), rows(least), rows(33)]


def of_recommender(name: str) -> Architecture:
    return Architecture(name, 'deepctr-torch', functools.partial(make_recommender, name),
                        functools.partial(recommender_calls, name), {0: (0,)})


ARCHITECTURES = [of_timm(name) for name in TIMM] + \
                [of_text(kind, settings, decodes=False) for kind, settings in ENCODERS.items()] + \
                [of_text(kind, settings, decodes=True) for kind, settings in DECODERS.items()] + \
                [of_pair(kind, settings) for kind, settings in PAIRS.items()] + \
                [of_images(kind, settings) for kind, settings in IMAGES.items()] + \
                [of_sound(kind, settings) for kind, settings in SOUNDS.items()] + \
                [of_recommender(name) for name in RECOMMENDERS]
BY_NAME = {f'{one.package}/{one.name}': one for one in ARCHITECTURES}
