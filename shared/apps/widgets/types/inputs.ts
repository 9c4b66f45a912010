import { z } from 'zod';
import { defineWidget } from '../define-widget.ts';
import { choice, flag, input, list, number, options, placeholder, text, variant } from '../properties.ts';

const changed = ['onChange'] as const;
const typed = ['onChange', 'onClear', 'onFocus', 'onBlur'] as const;
const opened = ['onChange', 'onClear', 'onFocus', 'onBlur', 'onOpen', 'onClose'] as const;

const date = {
  format: text('Format', 'How a date is shown, such as yyyy-MM-dd'),
  minDate: text('First date', 'Earlier ones cannot be chosen'),
  maxDate: text('Last date', 'Later ones cannot be chosen'),
  withTime: flag('With a time', 'A time can be chosen as well'),
};

const field = z.object({
  key: text('Key', 'Name of the value in what is sent'),
  label: text('Label', 'Shown above the field'),
  type: choice('Kind of value', 'What can be entered', ['text', 'number', 'date', 'select', 'checkbox', 'textarea']),
  isRequired: flag('Required', 'The form cannot be sent without a value'),
});

/** Widgets into which a person enters something, or with which they send it. */
export const inputs = [
  defineWidget({
    type: 'button',
    label: 'Button',
    category: 'input',
    properties: z.object({
      label: text('Label', 'Shown on the button'),
      variant,
      icon: text('Icon', 'Name of an icon, shown before the label'),
      isDisabled: flag('Disabled', 'It cannot be pressed'),
      confirmation: text('Question', 'Asked before anything is done'),
    }),
    events: ['onSubmit'],
    defaults: { label: 'Run' },
  }),
  defineWidget({
    type: 'form',
    label: 'Form',
    category: 'input',
    properties: z.object({
      fields: list('Fields', 'What is asked', field),
      submitLabel: text('Label of the button', 'Shown on the button that sends the form'),
      isReset: flag('Emptied', 'The fields are emptied after the form was sent'),
    }),
    events: ['onSubmit', 'onFieldChange'],
    defaults: { fields: [], submitLabel: 'Send' },
  }),
  defineWidget({
    type: 'date-picker',
    label: 'Date',
    category: 'input',
    properties: z.object({ ...input, ...date }),
    events: opened,
    defaults: { label: 'Date' },
  }),
  defineWidget({
    type: 'date-range-picker',
    label: 'Period',
    category: 'input',
    properties: z.object({
      ...input,
      ...date,
      defaultEnd: text('Initial end', 'The end of the period at first'),
    }),
    events: opened,
    defaults: { label: 'Period' },
  }),
  defineWidget({
    type: 'text-input',
    label: 'Text input',
    category: 'input',
    properties: z.object({
      ...input,
      placeholder,
      maxLength: number('Length at most', 'In characters'),
      isMultiline: flag('Several lines', 'A text may have line breaks'),
      inputType: choice('Kind of text', 'What is expected', ['text', 'email', 'number', 'password', 'tel', 'url']),
    }),
    events: typed,
    defaults: { label: 'Text' },
  }),
  defineWidget({
    type: 'select',
    label: 'Select',
    category: 'input',
    properties: z.object({
      ...input,
      options,
      placeholder,
      isSearchable: flag('With a search', 'Choices can be found by a part of their label'),
    }),
    events: opened,
    defaults: { label: 'Choose', options: [] },
  }),
  defineWidget({
    type: 'multi-select',
    label: 'Multiple select',
    category: 'input',
    properties: z.object({ ...input, options, placeholder, maxSelected: number('Choices at most', 'At once') }),
    events: opened,
    defaults: { label: 'Choose', options: [] },
  }),
  defineWidget({
    type: 'checkbox',
    label: 'Checkbox',
    category: 'input',
    properties: z.object({ ...input, isChecked: flag('Checked', 'Whether it is checked at first') }),
    events: changed,
    defaults: { label: 'Yes' },
  }),
  defineWidget({
    type: 'radio-group',
    label: 'Radio buttons',
    category: 'input',
    properties: z.object({
      ...input,
      options,
      direction: choice('Direction', 'In which the choices are shown', ['row', 'column']),
    }),
    events: changed,
    defaults: { label: 'Choose', options: [] },
  }),
  defineWidget({
    type: 'switch',
    label: 'Switch',
    category: 'input',
    properties: z.object({ ...input, isOn: flag('On', 'Whether it is on at first') }),
    events: changed,
    defaults: { label: 'On' },
  }),
  defineWidget({
    type: 'slider',
    label: 'Slider',
    category: 'input',
    properties: z.object({
      ...input,
      min: number('Lowest value', 'At the left end'),
      max: number('Highest value', 'At the right end'),
      step: number('Step', 'Between two values'),
    }),
    events: changed,
    defaults: { label: 'Value', min: 0, max: 100, step: 1 },
  }),
  defineWidget({
    type: 'search-input',
    label: 'Search',
    category: 'input',
    properties: z.object({
      ...input,
      placeholder,
      debounceMs: number('Wait (ms)', 'After the last key, before the search begins'),
    }),
    events: [...typed, 'onSearch'],
    defaults: { placeholder: 'Search' },
  }),
  defineWidget({
    type: 'file-upload',
    label: 'File upload',
    category: 'input',
    properties: z.object({
      ...input,
      accept: text('Kinds of files', 'As in HTML, such as image/png,.csv'),
      isMultiple: flag('Several files', 'More than one file can be chosen'),
      maxSizeMB: number('Size at most (MB)', 'Of each file; the server accepts 10 MB'),
    }),
    events: ['onChange', 'onClear'],
    defaults: { label: 'File' },
  }),
] as const;
