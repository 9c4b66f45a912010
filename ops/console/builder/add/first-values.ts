import type { Values } from '../document.ts';

/** Rows that a new widget shows until it is given those of a query. */
const rows = `{{[
  { order: 1001, customer: "Ada", state: "open", total: 120 },
  { order: 1002, customer: "Grace", state: "paid", total: 80 },
  { order: 1003, customer: "Alan", state: "open", total: 45 }
]}}`;

const choices = [
  { value: 'open', label: 'Open' },
  { value: 'paid', label: 'Paid' },
];

const figures = { labels: ['Mon', 'Tue', 'Wed'], datasets: [{ label: 'Orders', data: [4, 7, 5] }] };
const points = {
  datasets: [
    {
      label: 'Orders',
      data: [
        { x: 1, y: 2, r: 6 },
        { x: 2, y: 5, r: 9 },
        { x: 4, y: 3, r: 4 },
      ],
    },
  ],
};

/** Properties with which a new widget draws something, so that one sees what it is. */
const firstProperties: Readonly<Record<string, Values>> = {
  table: { items: rows },
  list: { items: rows, primaryKey: 'customer', secondaryKey: 'state' },
  timeline: {
    items: '{{[{ time: "2026-03-02T09:00:00Z", title: "Ordered" }, { time: "2026-03-03T14:30:00Z", title: "Paid" }]}}',
    timeKey: 'time',
    titleKey: 'title',
  },
  stat: { label: 'Open orders', value: '12' },
  text: { content: '## A heading\n\nWrite here what viewers should know.', format: 'markdown' },
  alert: { title: 'Good to know', message: 'Write here what viewers should see at once.' },
  badge: { label: 'New' },
  progress: { value: '40', label: 'Done' },
  'key-value': { values: { Customer: 'Ada', State: 'open', Total: 120 } },
  'json-viewer': { value: '{{({ order: 1001, customer: "Ada" })}}' },
  'code-block': { code: 'SELECT id, total FROM orders;', language: 'sql', showLineNumbers: true },
  html: { content: '<p>Your own markup</p>', height: 120 },
  button: { label: 'Run' },
  form: {
    fields: [
      { key: 'name', label: 'Name', type: 'text', isRequired: true },
      { key: 'amount', label: 'Amount', type: 'number' },
    ],
    submitLabel: 'Send',
  },
  select: { options: choices },
  'multi-select': { options: choices },
  'radio-group': { options: choices },
  tabs: {
    tabs: [
      { key: 'first', label: 'First' },
      { key: 'second', label: 'Second' },
    ],
    defaultTab: 'first',
  },
  bar: { sampleData: figures },
  line: { sampleData: figures },
  pie: { sampleData: figures },
  polarArea: { sampleData: figures },
  radar: { sampleData: figures },
  scatter: { sampleData: points },
  bubble: { sampleData: points },
};

/** Whether a text is one that a new widget of a type has. */
export function isFirstText(type: string, text: string): boolean {
  return Object.hasOwn(firstProperties, type) && Object.values(firstProperties[type] ?? {}).includes(text);
}

/** The config of a new widget: what the server proposes for its type, with values that draw something. */
export function firstConfig(type: string, proposed: Values): Values {
  const own = Object.hasOwn(firstProperties, type) ? firstProperties[type] : {};
  const properties = typeof proposed.properties === 'object' ? proposed.properties : {};
  return { ...proposed, properties: { ...properties, ...own } };
}
