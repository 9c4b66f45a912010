import { kinds } from '../assets/kinds.ts';
import { heldReferences, type TemplatedID, unfollowed } from '../assets/templated-ids.ts';
import type { GivenItem } from './read-items.ts';

interface Planned extends GivenItem {
  action: string;
  warnings: string[];
  unfollowed: readonly TemplatedID[];
  tables: readonly string[];
}

/** Warns of fields that name assets by templates which the bundle cannot follow, and of tables that queries need. */
export function warnOfTemplates(items: readonly Planned[]): void {
  const brought = items.filter(({ type, action }) => type === 'variable' && action !== 'skip');
  const variables = new Map(brought.map((item) => [item.title, item]));
  for (const item of items) {
    const noun = kinds[item.type].noun;
    item.unfollowed = unfollowed(item.templated, (held) => {
      const variable = variables.get(held.variable);
      return variable !== undefined && heldReferences(variable.payload, [held]).length > 0;
    });
    for (const { type, path, template, held } of item.unfollowed) {
      const why = held ? `: check the value of the variable ${held.variable} here` : '';
      const what = `The ${noun} "${item.title}" names a ${kinds[type].noun} by a template that no import can follow`;
      item.warnings.push(`${what}, ${template} at ${path.join('.')}${why}`);
    }
    if (item.tables.length > 0) {
      const tables = item.tables.join(', ');
      item.warnings.push(
        `The ${noun} "${item.title}" needs tables of the tenant database, which no bundle has: ${tables}`,
      );
    }
  }
}
