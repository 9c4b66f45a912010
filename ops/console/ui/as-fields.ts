import type { Field } from './fields.tsx';

/** The fields of a workflow's declared inputs. */
export function inputFields(definitions: unknown): Field[] {
  if (!Array.isArray(definitions)) return [];
  return definitions.flatMap((definition: unknown) => {
    if (!isObject(definition) || typeof definition.key !== 'string') return [];
    const { key, type, required, title, label, description, placeholder } = definition;
    return {
      key,
      label: textOf(title) ?? textOf(label) ?? key,
      kind: kindOfType(type),
      isRequired: required === true && type !== 'boolean',
      ...text('description', description),
      ...text('placeholder', placeholder),
      initial: definition.default ?? definition.defaultValue,
    };
  });
}

/** The fields of a question to a person; undefined if it can only be answered as JSON. */
export function questionFields(config: Readonly<Record<string, unknown>>): Field[] | undefined {
  const { fields, formSchema } = config;
  if (Array.isArray(fields) && fields.length > 0) return fields.filter(isObject).map(collectionField);
  return isObject(formSchema) ? schemaFields(formSchema) : undefined;
}

function collectionField(field: Readonly<Record<string, unknown>>): Field {
  const { key, label, fieldType, required, placeholder, options } = field;
  const kinds: Record<string, Field['kind']> = { dropdown: 'choice', number: 'number', checkbox: 'checkbox' };
  return {
    key: String(key),
    label: textOf(label) ?? String(key),
    kind: fieldType === 'long text' ? 'long text' : (kinds[String(fieldType)] ?? 'text'),
    isRequired: required === true && fieldType !== 'checkbox',
    ...text('placeholder', placeholder),
    choices: choicesOf(options),
  };
}

/** Of an object with simple properties alone. */
function schemaFields({ properties, required }: Readonly<Record<string, unknown>>): Field[] | undefined {
  if (!isObject(properties)) return undefined;
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(([key, property]) => {
    const { type, title, description, enum: choices, default: initial } = isObject(property) ? property : {};
    return {
      key,
      label: textOf(title) ?? key,
      kind: Array.isArray(choices) ? 'choice' : kindOfType(type),
      isRequired: needed.includes(key) && type !== 'boolean',
      ...text('description', description),
      choices: choicesOf(choices),
      initial,
    };
  });
}

function kindOfType(type: unknown): Field['kind'] {
  if (type === 'number' || type === 'integer') return 'number';
  if (type === 'boolean') return 'checkbox';
  return type === 'object' || type === 'array' ? 'json' : 'text';
}

function choicesOf(options: unknown): { label: string; value: string }[] {
  if (!Array.isArray(options)) return [];
  const choices = options.map((option: unknown) => {
    if (!isObject(option)) return { label: String(option), value: String(option) };
    return { label: String(option.label ?? option.value), value: String(option.value) };
  });
  // A list with a value twice cannot be shown.
  return choices.filter(({ value }, at) => choices.findIndex((one) => one.value === value) === at);
}

function text<K extends string>(key: K, value: unknown): { [key in K]?: string } {
  return (typeof value === 'string' && value !== '' ? { [key]: value } : {}) as { [key in K]?: string };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
