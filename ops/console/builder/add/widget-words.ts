import type { IconName } from '../../ui/outlines.ts';
import { type Section, sections } from '../parts.ts';

/** A type of widget, or a part that holds others, as it is offered. */
export interface Offer {
  type: string;
  isSection: boolean;
  word: string;
  sentence: string;
  icon: IconName;
  group: Group;
  /** Further words by which it is found. */
  synonyms: string;
}

export const groups = ['Show data', 'Charts', 'Text and media', 'Ask and act', 'Arrange', 'Other'] as const;
type Group = (typeof groups)[number];

type Words = Omit<Offer, 'type' | 'isSection'>;

function words(group: Group, icon: IconName, word: string, sentence: string, synonyms = ''): Words {
  return { group, icon, word, sentence, synonyms };
}

const show = 'Show data';
const chart = 'Charts';
const text = 'Text and media';
const ask = 'Ask and act';

const widgets: Readonly<Record<string, Words>> = {
  table: words(
    show,
    'table',
    'Table',
    'Rows of a query, with pages and a search',
    'grid list records spreadsheet rows',
  ),
  stat: words(
    show,
    'spark',
    'Figure',
    'One number in large digits, such as a total',
    'kpi metric number count total sum card statistic',
  ),
  list: words(show, 'runs', 'List', 'Rows as lines of two texts and an image', 'items feed cards'),
  'key-value': words(show, 'form', 'Names and values', 'The fields of one row', 'detail record description properties'),
  progress: words(show, 'ring', 'Progress', 'How much of something is done', 'bar percent gauge'),
  timeline: words(show, 'clock', 'Timeline', 'What has happened, by time', 'history events log activity'),
  badge: words(show, 'flag', 'Badge', 'A state in one word', 'status tag label pill chip'),
  'json-viewer': words(show, 'code', 'JSON', 'A value with all its fields', 'object raw debug data'),
  bar: words(chart, 'cases', 'Bar chart', 'Compares figures by a column', 'column graph histogram'),
  line: words(chart, 'lines', 'Line chart', 'How figures change over time', 'graph trend area time series'),
  pie: words(chart, 'clock', 'Pie chart', 'Parts of a whole', 'donut graph share'),
  polarArea: words(chart, 'sun', 'Polar area chart', 'Parts of a whole, by their radius', 'graph rose'),
  radar: words(chart, 'globe', 'Radar chart', 'Several figures of a few things', 'spider graph'),
  scatter: words(chart, 'grid', 'Scatter chart', 'Two figures of each row as a point', 'xy points graph'),
  bubble: words(chart, 'ring', 'Bubble chart', 'Three figures of each row', 'points graph'),
  text: words(text, 'lines', 'Text', 'A heading, a sentence or a longer text', 'title label paragraph markdown'),
  alert: words(text, 'bell', 'Notice', 'A message that is seen at once', 'alert warning info banner callout'),
  image: words(text, 'eye', 'Image', 'A picture that was uploaded here', 'picture photo logo'),
  video: words(text, 'play', 'Video', 'A film that was uploaded here', 'movie media'),
  'code-block': words(text, 'code', 'Code', 'A text as it is, with line numbers', 'snippet source'),
  html: words(text, 'code', 'HTML', 'Markup of your own, apart from the page', 'custom embed'),
  iframe: words(text, 'globe', 'Page of another site', 'Another site in a frame', 'embed iframe web url'),
  button: words(ask, 'play', 'Button', 'Starts a workflow, runs a query, or opens a page', 'action submit click run'),
  form: words(ask, 'form', 'Form', 'Several fields that are sent together', 'input fields create edit submit'),
  'text-input': words(ask, 'pen', 'Text field', 'A text, a number, or a password', 'input string textarea'),
  'search-input': words(ask, 'search', 'Search', 'Words by which rows are found', 'filter find query'),
  select: words(ask, 'down', 'Select', 'One of several choices', 'dropdown picker combobox options'),
  'multi-select': words(ask, 'check', 'Multiple select', 'Some of several choices', 'dropdown tags picker options'),
  'radio-group': words(ask, 'ring', 'Radio buttons', 'One of a few choices, all of them in view', 'options choice'),
  checkbox: words(ask, 'approve', 'Checkbox', 'Yes or no', 'boolean tick toggle'),
  switch: words(ask, 'gear', 'Switch', 'On or off', 'boolean toggle'),
  slider: words(ask, 'gear', 'Slider', 'A number between two others', 'range'),
  'date-picker': words(ask, 'clock', 'Date', 'A day, or a moment', 'calendar time day'),
  'date-range-picker': words(ask, 'clock', 'Period', 'From one day to another', 'calendar range from to dates'),
  'file-upload': words(ask, 'out', 'File upload', 'Files from the computer of the viewer', 'attachment document'),
  tabs: words('Arrange', 'cases', 'Tabs', 'Parts of which one is shown at a time', 'pages sections'),
  divider: words('Arrange', 'skip', 'Divider', 'A line between parts', 'separator rule'),
};

/** The word for a type of widget; one that is not known has its own name. */
export function wordOf(type: string): string {
  return Object.hasOwn(widgets, type) ? (widgets[type]?.word ?? type) : type;
}

const sectionIcons: Readonly<Record<Section, IconName>> = {
  row: 'fold',
  column: 'runs',
  container: 'note',
  stack: 'lines',
  'z-stack': 'data',
};

const sectionSynonyms: Readonly<Record<Section, string>> = {
  row: 'columns side by side horizontal',
  column: 'vertical below',
  container: 'card panel section group border',
  stack: 'flex toolbar buttons',
  'z-stack': 'overlay layer',
};

/** All that can be added: widgets of the types that the server knows, and on a page parts that hold others. */
export function offersOf(types: Readonly<Record<string, { label: string }>>, hasSections: boolean): Offer[] {
  const offered = Object.entries(types).map(([type, { label }]): Offer => {
    const known = Object.hasOwn(widgets, type) ? widgets[type] : undefined;
    return { type, isSection: false, ...(known ?? words('Other', 'grid', label, 'A type of widget of this server')) };
  });
  const arranging = Object.entries(sections).map(([type, { word, sentence }]): Offer => {
    const name = type as Section;
    return { type, isSection: true, ...words('Arrange', sectionIcons[name], word, sentence, sectionSynonyms[name]) };
  });
  return hasSections ? [...offered, ...arranging] : offered;
}

/** Those that words find, the best first. */
export function offersFor(typed: string, offers: readonly Offer[]): Offer[] {
  const wanted = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const ranked = offers.map((offer) => ({ offer, rank: rankOf(offer, wanted) }));
  return ranked
    .filter(({ rank }) => rank > 0)
    .toSorted((one, other) => other.rank - one.rank)
    .map(({ offer }) => offer);
}

function rankOf({ word, synonyms, sentence, type }: Offer, wanted: readonly string[]): number {
  const ranks = wanted.map((part) => {
    if (word.toLowerCase().startsWith(part)) return 4;
    if (
      `${synonyms} ${type}`
        .toLowerCase()
        .split(' ')
        .some((one) => one.startsWith(part))
    )
      return 3;
    if (word.toLowerCase().includes(part)) return 2;
    return sentence.toLowerCase().includes(part) ? 1 : 0;
  });
  return ranks.includes(0) ? 0 : ranks.reduce<number>((sum, rank) => sum + rank, 0);
}
