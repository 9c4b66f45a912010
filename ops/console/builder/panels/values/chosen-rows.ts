import { propertiesID } from '../../../page/state/page-content.ts';
import type { PageState } from '../../../page/state/page-state.ts';
import { firstResult, rowsOf } from '../../../page/widgets/page-context.ts';
import { isObject } from '../../../ui/is-object.ts';
import { pathText } from '../../../values/path.ts';
import type { PageDocument } from '../../document.ts';
import { namesOfWidgets } from '../config.ts';

/** The row that a person chooses in a table of the page, whose columns are known before one is chosen. */
export interface ChosenRow {
  /** The table's name in expressions. */
  name: string;
  title: string;
  columns: readonly string[];
}

export function chosenRowsIn(document: PageDocument, page: PageState | undefined): ChosenRow[] {
  return [...namesOfWidgets(document)].flatMap(([key, name]) => {
    const widget = document.widgets[key];
    if (widget?.type !== 'table') return [];
    const columns = columnsOf(key, widget.config.properties, page);
    return columns.length > 0 ? [{ name, title: widget.title, columns }] : [];
  });
}

/** Those of the rows as they are now, and those that the table is told to show. */
function columnsOf(key: string, given: unknown, page: PageState | undefined): string[] {
  const now = page?.bindings.read(propertiesID(key)).value;
  const data = page?.dataOf(key)?.get();
  const rows = isObject(now) ? rowsOf(now, data) : firstResult(data);
  const [first] = Array.isArray(rows) ? rows : [];
  const told = isObject(given) && Array.isArray(given.columns) ? given.columns.filter(isObject) : [];
  const names = told.flatMap((one) => (typeof one.key === 'string' ? [one.key] : []));
  return [...new Set([...(isObject(first) ? Object.keys(first) : []), ...names])];
}

export function pathOfChosen(name: string, column?: string): string[] {
  return ['widgets', name, 'selectedRow', ...(column === undefined ? [] : [column])];
}

/** The expression that is true while no row is chosen. */
export function noneChosen(name: string): string | undefined {
  const path = pathText(pathOfChosen(name), 'template');
  return path && `{{${path} | count | equals: 0}}`;
}

/** The inputs that have the name of a column, each with that column: `orderId` and `order_id` are the same name. */
export function sameNames(inputs: readonly string[], columns: readonly string[]): [input: string, column: string][] {
  return inputs.flatMap((input) => {
    const column = columns.find((one) => one === input) ?? columns.find((one) => plain(one) === plain(input));
    return column === undefined ? [] : [[input, column] as [string, string]];
  });
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[_\-\s]/g, '');
}
