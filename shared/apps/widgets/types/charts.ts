import { z } from 'zod';
import { defineWidget } from '../define-widget.ts';
import { choice, flag, object, text } from '../properties.ts';

const axes = {
  showLegend: flag('Legend', 'Names the datasets'),
  legendPosition: choice('Place of the legend', 'At which side of the chart', ['top', 'bottom', 'left', 'right']),
  options: object('Options of the chart', 'Passed on to the library that draws it'),
};

const cartesian = z.object({
  ...axes,
  xLabel: text('Label of the x axis', 'Shown below the chart'),
  yLabel: text('Label of the y axis', 'Shown beside the chart'),
});

const stacked = cartesian.extend({ isStacked: flag('Stacked', 'Datasets are drawn on top of each other') });
const round = z.object(axes);
const defaults = { showLegend: true };
const events = ['onMarkClick'];

const ofCategories = { category: 'chart', shape: 'categories', events, defaults } as const;

/** Charts whose data are computed on the server. */
export const computedCharts = [
  defineWidget({
    ...ofCategories,
    type: 'bar',
    label: 'Bar chart',
    properties: stacked,
    columns: ['xAxis', 'yAxis'],
  }),
  defineWidget({
    ...ofCategories,
    type: 'line',
    label: 'Line chart',
    properties: stacked,
    columns: ['xAxis', 'yAxis'],
  }),
  defineWidget({
    ...ofCategories,
    type: 'radar',
    label: 'Radar chart',
    properties: round,
    columns: ['xAxis', 'yAxis'],
  }),
  defineWidget({ ...ofCategories, type: 'pie', label: 'Pie chart', properties: round, columns: ['label', 'value'] }),
  defineWidget({
    ...ofCategories,
    type: 'polarArea',
    label: 'Polar area chart',
    properties: round,
    columns: ['label', 'value'],
  }),
  defineWidget({
    type: 'scatter',
    label: 'Scatter chart',
    category: 'chart',
    shape: 'points',
    columns: ['xAxis', 'yAxis'],
    properties: cartesian,
    events,
    defaults,
  }),
  defineWidget({
    type: 'bubble',
    label: 'Bubble chart',
    category: 'chart',
    shape: 'bubbles',
    columns: ['xAxis', 'yAxis', 'radius'],
    properties: cartesian,
    events,
    defaults,
  }),
] as const;

const drawn = z.object({
  spec: object('Specification', 'In JSON, without its data'),
  dataName: text('Name of the data', 'Under which the specification uses the rows'),
  theme: choice('Theme', 'Of the colours', ['default', 'dark', 'excel', 'ggplot2', 'latimes', 'quartz']),
  showActions: flag('Menu', 'Offers to save the chart as an image'),
});

const ofVega = { category: 'chart', properties: drawn, events: ['onMarkClick', 'onBrush'] } as const;

export const vegaCharts = [
  defineWidget({
    ...ofVega,
    type: 'vega-lite',
    label: 'Vega-Lite chart',
    defaults: { dataName: 'table', spec: { mark: 'bar' } },
  }),
  defineWidget({ ...ofVega, type: 'vega', label: 'Vega chart', defaults: { dataName: 'table', spec: {} } }),
] as const;
