import type { Locator } from 'playwright-core';
import { findWidgetType } from '#shared/apps/widgets/index.ts';

export interface Shown {
  type: string;
  name?: string;
  properties: object;
  events?: object;
  dataQueries?: object[];
}

/** A widget with what has to be seen in its place. */
type Piece = Shown & { see: (part: Locator) => Locator };

export const titleOf = (type: string) => findWidgetType(type)?.label ?? type;

/** Every type once, with values of its own: no data are read. The file and the site stand for those that a tenant has. */
export function everyWidget({ site, file }: { site: string; file: string }): Piece[] {
  const rows = [
    { title: 'Lamp', state: 'paid', at: '2026-03-02T10:00:00Z', total: 12.5 },
    { title: 'A table with a name that is longer than most', state: 'open', at: '2026-03-03T10:00:00Z', total: 190 },
  ];
  const options = ['post', { value: 'courier', label: 'By courier' }];
  const ofFigures = (part: Locator) => part.getByText('Figures');
  const shownAs = (role: Parameters<Locator['getByRole']>[0], name: string) => (part: Locator) =>
    part.getByRole(role, { name });
  const says = (text: string) => (part: Locator) => part.getByText(text);
  const drawn = (type: string, data: object): Piece => ({ type, properties: { data }, see: ofFigures });
  const sums = {
    labels: ['north', 'south', 'west'],
    datasets: [
      { label: 'Paid', data: [3, 5, 2] },
      { label: 'Open', data: [1, 2, 4] },
    ],
  };
  const points = [
    { x: 10, y: 3, r: 5 },
    { x: 20, y: 5, r: 9 },
    { x: 15, y: 2, r: 3 },
  ];
  const spots = { datasets: [{ label: 'Places', data: points }] };
  return [
    {
      ...{ type: 'text', properties: { content: '## Orders\n\nOf **this** week', format: 'markdown' } },
      see: (part) => part.getByRole('strong').getByText('Orders'),
    },
    {
      ...{ type: 'stat', properties: { label: 'Open', value: 42, unit: 'orders', previousValue: 40 } },
      see: says('+5% since before'),
    },
    {
      ...{ type: 'progress', properties: { label: 'Paid', value: 30, max: 40 } },
      see: shownAs('progressbar', 'Paid'),
    },
    { type: 'table', properties: { items: rows, isSearchable: true }, see: shownAs('cell', 'Lamp') },
    { type: 'list', properties: { items: rows, secondaryKey: 'state' }, see: (part) => part.getByRole('listitem') },
    {
      ...{ type: 'timeline', properties: { items: rows, timeKey: 'at', textKey: 'state' } },
      see: (part) => part.getByRole('listitem'),
    },
    { type: 'key-value', properties: { values: rows[1] }, see: (part) => part.getByRole('term') },
    { type: 'json-viewer', properties: { value: rows }, see: says('"paid"') },
    {
      ...{ type: 'code-block', properties: { code: 'select title, total\nfrom orders', showLineNumbers: true } },
      see: says('from orders'),
    },
    {
      ...{ type: 'alert', properties: { title: 'Note', message: 'Closes at six', variant: 'warning' } },
      see: says('Closes at six'),
    },
    { type: 'badge', properties: { label: 'Paid', variant: 'success' }, see: says('Paid') },
    { type: 'divider', properties: { label: 'Below' }, see: says('Below') },
    { type: 'image', properties: { src: file, alt: 'A pixel', height: 60 }, see: shownAs('img', 'A pixel') },
    { type: 'video', properties: { src: file }, see: (part) => part.locator('video') },
    {
      ...{ type: 'html', properties: { content: '<p>In a frame</p>', height: 60 } },
      see: (part) => part.frameLocator('iframe').getByText('In a frame'),
    },
    {
      ...{ type: 'iframe', properties: { src: site, height: 60 } },
      see: (part) => part.frameLocator('iframe').frameLocator('iframe').getByText('Of another site'),
    },
    {
      type: 'tabs',
      properties: {
        tabs: [
          { key: 'a', label: 'First' },
          { key: 'b', label: 'Second' },
        ],
      },
      see: shownAs('tab', 'Second'),
    },
    { type: 'button', properties: { label: 'Run it' }, see: shownAs('button', 'Run it') },
    drawn('bar', sums),
    drawn('line', sums),
    drawn('radar', sums),
    drawn('pie', sums),
    drawn('polarArea', sums),
    drawn('scatter', spots),
    drawn('bubble', spots),
    {
      type: 'vega-lite',
      properties: {
        spec: {
          mark: 'bar',
          encoding: { x: { field: 'region', type: 'nominal' }, y: { field: 'total', type: 'quantitative' } },
        },
      },
      see: says('are not drawn'),
    },
    {
      type: 'vega',
      properties: {
        spec: { marks: [{ type: 'rect', encode: { enter: { width: { value: 40 }, height: { value: 20 } } } }] },
      },
      see: says('are not drawn'),
    },
    { type: 'text-input', properties: { label: 'Who', isRequired: true }, see: shownAs('textbox', 'Who') },
    { type: 'search-input', properties: { label: 'Find' }, see: shownAs('searchbox', 'Find') },
    {
      ...{ type: 'select', properties: { label: 'Way', options, defaultValue: 'courier' } },
      see: (part) => part.getByLabel('Way'),
    },
    {
      ...{ type: 'multi-select', properties: { label: 'Ways', options, defaultValue: ['post'] } },
      see: (part) => part.getByLabel('Ways'),
    },
    {
      ...{ type: 'radio-group', properties: { label: 'How', options, defaultValue: 'post' } },
      see: shownAs('radio', 'By courier'),
    },
    { type: 'checkbox', properties: { label: 'Sure', isChecked: true }, see: shownAs('checkbox', 'Sure') },
    { type: 'switch', properties: { label: 'Fast', isOn: true }, see: (part) => part.getByLabel('Fast') },
    {
      ...{ type: 'slider', properties: { label: 'Count', min: 1, max: 9, defaultValue: 3 } },
      see: shownAs('slider', 'Count'),
    },
    {
      ...{ type: 'date-picker', properties: { label: 'Day', defaultValue: '2026-03-02' } },
      see: (part) => part.getByLabel('Day'),
    },
    {
      type: 'date-range-picker',
      properties: { label: 'Period', defaultValue: '2026-03-02', defaultEnd: '2026-03-05' },
      see: (part) => part.getByLabel('Period, to'),
    },
    { type: 'file-upload', properties: { label: 'Receipt' }, see: says('Receipt') },
    {
      type: 'form',
      properties: {
        submitLabel: 'Ask for it',
        fields: [
          { key: 'name', label: 'Name', isRequired: true },
          { key: 'amount', label: 'Amount', type: 'number' },
        ],
      },
      see: shownAs('button', 'Ask for it'),
    },
  ];
}
