"""Drawings of a bias map: AS curves, single neurons, and layer by neuron before and after a repair."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.measures.neurons.bias import BiasMap, LayerBias


def curves_picture(bias: BiasMap) -> Any:
    """The AS curve of every layer with y = x and the threshold of the most biased one, as a plotly figure."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for layer in bias.layers:
        name = f"{layer.name} (AUC {layer.area:.3f})"
        figure.add_scatter(x=layer.curve.thresholds, y=layer.curve.shares, mode="lines", line_shape="hv", name=name)
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line={"dash": "dot", "color": "grey"}, name="y = x")
    most = bias.most_biased
    figure.add_vline(x=most.curve.crossing, line_dash="dash", annotation_text=f"T_d = {most.curve.crossing:.3f} ({most.name})")
    figure.update_xaxes(title="activation difference (tanh)", range=[0, 1])
    return figure.update_layout(title="Sensitive neurons by threshold", yaxis_title="share of neurons above")


def neurons_picture(layer: LayerBias) -> Any:
    """Every neuron of a layer with its reaction, biased ones marked, as a plotly figure."""
    import plotly.graph_objects as go

    colours = np.where(layer.biased, "#b2182b", "#92a4b5").tolist()
    figure = go.Figure(go.Bar(x=np.arange(len(layer.reactions)), y=layer.reactions, marker_color=colours))
    figure.add_hline(y=layer.curve.crossing, line_dash="dash")
    biased = f"{int(layer.biased.sum())} of {len(layer.reactions)} neurons are biased"
    title = f"{layer.name}: {biased} (dashed: T_d = {layer.curve.crossing:.3f})"
    return figure.update_layout(title=title, xaxis_title="neuron", yaxis_title="activation difference (tanh)", yaxis_range=[0, 1.05])


def bias_map_picture(before: BiasMap, after: BiasMap | None = None) -> Any:
    """Layer by neuron as a heat map; with `after`, the same network once mended below it."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    maps = [before] if after is None else [before, after]
    titles = ["bias map"] if after is None else ["before", "after"]
    figure = make_subplots(rows=len(maps), cols=1, subplot_titles=titles, shared_xaxes=True)
    for row, bias in enumerate(maps, start=1):
        cells = grid(bias)
        names = [layer.name for layer in bias.layers]
        figure.add_trace(go.Heatmap(z=cells, y=names, zmin=0, zmax=1, colorscale="Reds", showscale=row == 1), row=row, col=1)
        figure.update_yaxes(autorange="reversed", row=row, col=1)
    figure.update_xaxes(title="neuron", row=len(maps), col=1)
    return figure.update_layout(title="Reaction of every neuron to the protected attributes", plot_bgcolor="white")


def grid(bias: BiasMap) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Reactions, one line per layer; NaN where a layer has fewer neurons than the widest."""
    cells = np.full((len(bias.layers), max(len(layer.reactions) for layer in bias.layers)), np.nan)
    for line, layer in zip(cells, bias.layers, strict=True):
        line[: len(layer.reactions)] = layer.reactions
    return cells
