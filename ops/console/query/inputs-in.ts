import type { Tables } from '../code/offered.ts';
import { isObject } from '../ui/is-object.ts';

type Options = Readonly<Record<string, unknown>>;
export type InputType = 'string' | 'number' | 'boolean' | 'object' | 'array';

/** Options that all queries have. Templates in them are not filled. */
const COMMON = new Set(['inputDefinitions', 'timeoutSeconds', 'maxRows', 'rowsPerPage', 'cacheSeconds', 'transform']);
const INPUT =
  /\{\{\s*inputs\s*(?:(?:\?\.|\.)\s*([\p{L}_$][\p{L}\p{N}_$]*)|(?:\?\.)?\s*\[\s*(?:"([^"]*)"|'([^']*)')\s*\])[^{}]*\}\}/gu;

/** An input that a text of the query names, and what stands around it. */
interface Use {
  key: string;
  before: string;
  after: string;
}

function usesIn(value: unknown): Use[] {
  if (typeof value === 'string')
    return [...value.matchAll(INPUT)].map((found) => ({
      key: found[1] ?? found[2] ?? found[3] ?? '',
      before: value.slice(Math.max(0, found.index - AROUND), found.index),
      after: value.slice(found.index + found[0].length, found.index + found[0].length + AROUND),
    }));
  return Object.values(isObject(value) || Array.isArray(value) ? value : {}).flatMap(usesIn);
}

const AROUND = 200;

function usesOf(options: Options): Use[] {
  return Object.entries(options).flatMap(([name, value]) => (COMMON.has(name) ? [] : usesIn(value)));
}

function declaredKeys({ inputDefinitions }: Options): string[] {
  const all: unknown[] = Array.isArray(inputDefinitions) ? inputDefinitions : [];
  return all.flatMap((one) => (isObject(one) && typeof one.key === 'string' ? [one.key] : []));
}

export interface FoundInput {
  key: string;
  type: InputType;
}

/** Inputs that the texts of a query name and that it does not declare, each with the type that what stands around it suggests. */
export function foundInputs(options: Options, tables: Tables = {}): FoundInput[] {
  const declared = new Set(declaredKeys(options));
  const byKey = Map.groupBy(
    usesOf(options).filter(({ key }) => key !== '' && !declared.has(key)),
    ({ key }) => key,
  );
  const types = columnTypes(tables);
  return [...byKey].map(([key, uses]) => ({ key, type: typeOf(key, uses, types) }));
}

/** Declared inputs that neither the texts nor the code of the query name. */
export function unusedInputs(options: Options): string[] {
  const used = new Set(usesOf(options).map(({ key }) => key));
  const code = typeof options.transform === 'string' ? options.transform : '';
  return declaredKeys(options).filter((key) => key !== '' && !used.has(key) && !code.includes(key));
}

/** The options with these inputs declared behind the others. */
export function withInputs(options: Options, inputs: readonly FoundInput[]): Options {
  if (inputs.length === 0) return options;
  const { inputDefinitions } = options;
  const declared: unknown[] = Array.isArray(inputDefinitions) ? inputDefinitions : [];
  return { ...options, inputDefinitions: [...declared, ...inputs.map(({ key, type }) => ({ key, type }))] };
}

/** Each declared default under its first name: the second one is read only where the first is not set. */
export function withOneDefault(options: Options): Options {
  const { inputDefinitions } = options;
  if (!Array.isArray(inputDefinitions)) return options;
  const isOther = (one: unknown) => isObject(one) && one.defaultValue !== undefined;
  if (!inputDefinitions.some(isOther)) return options;
  return {
    ...options,
    inputDefinitions: inputDefinitions.map((one: unknown) => {
      if (!isObject(one)) return one;
      const { defaultValue, ...rest } = one;
      return {
        ...rest,
        ...((rest.default ?? defaultValue) !== undefined && { default: rest.default ?? defaultValue }),
      };
    }),
  };
}

/** Types by the names of columns, in lower case. A name that two tables have with different types says nothing. */
function columnTypes(tables: Tables): ReadonlyMap<string, InputType | undefined> {
  const types = new Map<string, InputType | undefined>();
  const columns = Object.values(tables).flatMap((own) => Object.values(own).flat());
  for (const { name, type } of columns) {
    const key = name.toLowerCase();
    const one = typeOfColumn(type);
    types.set(key, types.has(key) && types.get(key) !== one ? undefined : one);
  }
  return types;
}

function typeOf(key: string, uses: readonly Use[], types: ReadonlyMap<string, InputType | undefined>): InputType {
  for (const { before, after } of uses) {
    const cast = /^\s*::\s*([\w ]+(?:\[\])?)/.exec(after)?.[1];
    if (cast) return typeOfColumn(cast.trim());
    if (/\b(?:limit|offset)\s+$/i.test(before)) return 'number';
    const column = COMPARED.exec(before)?.[1] ?? BETWEEN.exec(before)?.[1];
    const type = column && types.get(column.replaceAll(/["`]/g, '').toLowerCase());
    if (type) return type;
  }
  // As the column that it is probably written to.
  return (
    types.get(key.toLowerCase()) ?? types.get(snakeCase(key)) ?? (/^(?:is|has)[A-Z_]/.test(key) ? 'boolean' : 'string')
  );
}

const COMPARED = /(?:^|[\s(.])(["`]?\w+["`]?)\s*(?:=|<>|!=|<=|>=|<|>|\blike|\bilike|\bin\s*\(|\bbetween)\s*$/i;
const BETWEEN = /(?:^|[\s(.])(["`]?\w+["`]?)\s+between\s+\S.*\s+and\s+$/i;

function snakeCase(name: string): string {
  return name.replace(/(?<=[a-z\d])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

function typeOfColumn(type: string): InputType {
  const word = type.toLowerCase();
  if (word.endsWith('[]')) return 'array';
  if (/^bool/.test(word)) return 'boolean';
  if (/^json/.test(word)) return 'object';
  if (
    /^(?:small|medium|big|tiny|huge|u)?(?:int(?:eger)?|serial)\d*\b|^(?:numeric|decimal|real|double|float|money|number)/.test(
      word,
    )
  )
    return 'number';
  return 'string';
}
