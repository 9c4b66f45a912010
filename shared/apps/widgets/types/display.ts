import { z } from 'zod';
import { defineWidget } from '../define-widget.ts';
import { choice, color, file, flag, list, number, object, rows, text, variant } from '../properties.ts';

const type = choice('Kind of value', 'How a value is shown', ['text', 'number', 'date', 'boolean', 'badge', 'link']);

const column = z.object({
  key: text('Key', 'Name of the column in the result'),
  label: text('Heading', 'Shown above the column'),
  type,
  isHidden: flag('Hidden', 'The column is not shown'),
});

const source = file('Address', 'Of the file');
const height = number('Height', 'In pixels');
const items = rows('Rows', 'What is shown, a list such as {{queries.orders.data}}');

/** Widgets that show something. */
export const displays = [
  defineWidget({
    type: 'table',
    label: 'Table',
    category: 'display',
    properties: z.object({
      items,
      total: text(
        'Rows in all',
        'Only where the query reads one page at a time, by the `offset` and the `pageSize` of this table',
      ),
      columns: list('Columns', 'Shown in this order; all columns of the result if there are none', column),
      pageSize: number('Rows in a page', 'Further rows are on further pages'),
      isSearchable: flag('With a search', 'Rows can be found by their texts'),
      isSelectable: flag('With a selection', 'Rows can be selected'),
      isEditable: flag('Editable', 'Rows can be edited, if `onRowSave` has actions that save them'),
      isExportable: flag('With an export', 'What is found can be saved as CSV'),
    }),
    events: [
      'onRowSelect',
      'onPageChange',
      'onSearch',
      'onExport',
      'onRowSave',
      'onBulkDelete',
      'onBulkExport',
      'onBulkAction',
      'onBulkEdit',
    ],
    defaults: { pageSize: 20, isEditable: true },
  }),
  defineWidget({
    type: 'text',
    label: 'Text',
    category: 'display',
    shape: 'text',
    columns: ['text'],
    properties: z.object({
      content: text('Text', 'Shown before the text of the queries', { max: 100_000 }),
      format: choice('Notation', 'How the text is read', ['plain', 'markdown']),
      align: choice('Alignment', 'Of the lines', ['left', 'center', 'right']),
      color,
    }),
    defaults: { content: '', format: 'plain' },
  }),
  defineWidget({
    type: 'stat',
    label: 'Figure',
    category: 'display',
    properties: z.object({
      label: text('Label', 'What the figure is'),
      value: text('Value', 'A template, or a text'),
      unit: text('Unit', 'Shown after the value'),
      previousValue: text('Earlier value', 'Compared with the value'),
      precision: number('Decimals', 'Digits behind the decimal point'),
    }),
    defaults: { label: 'Total' },
  }),
  defineWidget({
    type: 'alert',
    label: 'Alert',
    category: 'display',
    properties: z.object({
      title: text('Heading', 'Shown in bold'),
      message: text('Message', 'What is said', { max: 10_000 }),
      variant,
      isDismissible: flag('Can be closed', 'With a button'),
    }),
    events: ['onDismiss'],
    defaults: { variant: 'info' },
  }),
  defineWidget({
    type: 'image',
    label: 'Image',
    category: 'display',
    properties: z.object({
      src: source,
      alt: text('Description', 'For people who do not see the image'),
      fit: choice('Fit', 'How it fills its place', ['contain', 'cover', 'fill', 'none']),
      height,
    }),
    defaults: { fit: 'contain' },
  }),
  defineWidget({
    type: 'iframe',
    label: 'Page of another site',
    category: 'display',
    properties: z.object({
      src: text('Address', 'URL of the page'),
      title: text('Name', 'For people who do not see the page'),
      sandbox: text('Rights', 'The attribute `sandbox` of HTML'),
      height,
    }),
    defaults: { sandbox: 'allow-scripts' },
  }),
  defineWidget({
    type: 'html',
    label: 'HTML',
    category: 'display',
    properties: z.object({
      content: text('HTML', 'Shown in a frame without access to the page', { max: 100_000 }),
      height,
    }),
    events: ['onMessage'],
    defaults: { content: '' },
  }),
  defineWidget({
    type: 'key-value',
    label: 'Names and values',
    category: 'display',
    properties: z.object({
      values: object('Values', 'By their names, instead of the first row of the query'),
      columns: list(
        'Names',
        'Shown in this order; all values if there are none',
        z.object({ key: text('Key', 'Name of the value'), label: text('Label', 'Shown before it'), type }),
      ),
      layout: choice('Layout', 'Of a name and its value', ['row', 'column']),
    }),
    defaults: { layout: 'row' },
  }),
  defineWidget({
    type: 'json-viewer',
    label: 'JSON',
    category: 'display',
    properties: z.object({
      value: text('Value', 'A template, instead of the result of the query', { max: 100_000 }),
      depth: number('Depth', 'How deep it is open at first'),
    }),
    defaults: { depth: 2 },
  }),
  defineWidget({
    type: 'list',
    label: 'List',
    category: 'display',
    properties: z.object({
      items,
      primaryKey: text('First line', 'Name of the column'),
      secondaryKey: text('Second line', 'Name of the column'),
      imageKey: text('Image', 'Name of the column with its address'),
    }),
    events: ['onItemClick'],
    defaults: { primaryKey: 'title' },
  }),
  defineWidget({
    type: 'badge',
    label: 'Badge',
    category: 'display',
    properties: z.object({ label: text('Text', 'Shown in the badge'), variant, color }),
    defaults: { label: 'New', variant: 'info' },
  }),
  defineWidget({
    type: 'progress',
    label: 'Progress',
    category: 'display',
    properties: z.object({
      value: text('Value', 'A number, or a template'),
      max: number('Highest value', 'At which it is complete'),
      label: text('Label', 'Shown beside it'),
      form: choice('Form', 'How it is drawn', ['bar', 'circle']),
    }),
    defaults: { max: 100, form: 'bar' },
  }),
  defineWidget({
    type: 'timeline',
    label: 'Timeline',
    category: 'display',
    properties: z.object({
      items,
      timeKey: text('Time', 'Name of the column'),
      titleKey: text('Heading', 'Name of the column'),
      textKey: text('Text', 'Name of the column'),
    }),
    events: ['onItemClick'],
    defaults: { timeKey: 'time', titleKey: 'title' },
  }),
  defineWidget({
    type: 'video',
    label: 'Video',
    category: 'display',
    properties: z.object({
      src: source,
      poster: file('Image before', 'Address of an image that is shown until it plays'),
      withControls: flag('Controls', 'Shows buttons to play and to stop'),
      isLooped: flag('Repeated', 'It begins again when it ends'),
      isMuted: flag('Muted', 'It plays without sound'),
    }),
    defaults: { withControls: true },
  }),
  defineWidget({
    type: 'code-block',
    label: 'Code',
    category: 'display',
    properties: z.object({
      code: text('Code', 'Shown as it is', { max: 100_000 }),
      language: text('Language', 'For its colours'),
      showLineNumbers: flag('Line numbers', 'Shown before each line'),
    }),
    defaults: { code: '', language: 'sql' },
  }),
] as const;

/** Widgets that order others. */
export const layouts = [
  defineWidget({
    type: 'divider',
    label: 'Divider',
    category: 'layout',
    properties: z.object({
      label: text('Text', 'Shown in the line'),
      direction: choice('Direction', 'Of the line', ['horizontal', 'vertical']),
    }),
    defaults: { direction: 'horizontal' },
  }),
  defineWidget({
    type: 'tabs',
    label: 'Tabs',
    category: 'layout',
    properties: z.object({
      tabs: list(
        'Tabs',
        'Shown in this order',
        z.object({ key: text('Key', 'Name of the tab'), label: text('Label', 'Shown on the tab') }),
      ),
      defaultTab: text('First tab', 'Key of the tab that is open at first'),
    }),
    events: ['onChange'],
    defaults: { tabs: [] },
  }),
] as const;
