import type { JsonFormsCore } from '@jsonforms/core';
import type { Layout } from './schema-shape.ts';

export type Faults = NonNullable<JsonFormsCore['additionalErrors']>;

/** Those of the API, by the dotted paths of their fields, as JSON Forms takes them. */
export function errorsOf(faults: Iterable<readonly [string, string]>): Faults {
  return [...faults].map(([path, message]) => {
    const instancePath = path === '' ? '' : `/${path.replaceAll('.', '/')}`;
    return { instancePath, message, keyword: 'api', schemaPath: '', params: {} };
  });
}

/** A fault within a field that shows no fields of its own, with its path in it. */
export function faultWithin(path: string, faults: Faults = []): string | undefined {
  const before = path === '' ? '' : `${path}.`;
  const within = faults.find((fault) => dotted(fault).startsWith(before));
  return within && `${dotted(within).slice(before.length)}: ${within.message}`;
}

/** The fault of the value at a path, or of a part of it. */
export function faultAt(path: string, faults: Faults = []): string | undefined {
  return faults.find((fault) => dotted(fault) === path)?.message ?? faultWithin(path, faults);
}

/** Whether a field in this part of a layout has a fault, or the object that the field is in. */
export function hasFault({ scope, elements = [] }: Layout, path: string, faults: Faults = []): boolean {
  const own = `${pathOf(scope, path)}.`;
  const isAt =
    scope !== undefined && faults.some((fault) => own.startsWith(`${dotted(fault)}.`) || dotted(fault).startsWith(own));
  return isAt || elements.some((element) => hasFault(element, path, faults));
}

/** A fault of the object whose fields are in this part of a layout. */
export function faultAround({ scope, elements = [] }: Layout, path: string, faults: Faults = []): string | undefined {
  if (scope === undefined) return elements.map((element) => faultAround(element, path, faults)).find((fault) => fault);
  return faults.find((fault) => pathOf(scope, path).startsWith(`${dotted(fault)}.`))?.message;
}

function pathOf(scope: string | undefined, path: string): string {
  const names = scope?.split('/properties/').slice(1) ?? [];
  return [path, ...names].filter(Boolean).join('.');
}

function dotted({ instancePath }: Faults[number]): string {
  return instancePath.slice(1).replaceAll('/', '.');
}

/** The faults of one option, by their paths in it. */
export function faultsWithin(option: string, faults: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const within = [...faults].filter(([path]) => `${path}.`.startsWith(`${option}.`));
  return new Map(within.map(([path, message]) => [path.slice(option.length + 1), message]));
}
