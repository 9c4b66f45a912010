import { kinds } from '../assets/kinds.ts';
import { type TemplatedID, unfollowed } from '../assets/templated-ids.ts';
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
    item.unfollowed = unfollowed(item.templated, variables);
    for (const { type, path, template, source } of item.unfollowed) {
      const why = source ? `: check the value of the variable ${source.variable} here` : '';
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
