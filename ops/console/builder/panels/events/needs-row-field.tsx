import { Checkbox } from '@mantine/core';
import type { WidgetPanelProps } from '../panel.ts';
import { noneChosen } from '../values/chosen-rows.ts';
import { propertiesOf, tableOfRow, tablesIn, withDisabled } from './needs-row.ts';

/** Whether a button can be pressed only while a row is chosen. */
export function NeedsRow({ document, widgetKey, edit }: WidgetPanelProps) {
  const widget = document.widgets[widgetKey];
  const { isDisabled } = propertiesOf(widget);
  const tables = tablesIn(document);
  const needed = tables.find(({ name }) => isDisabled !== undefined && noneChosen(name) === isDisabled);
  const table = needed ?? tables.find(({ name }) => name === tableOfRow(document, widget?.config.events)) ?? tables[0];
  if (widget?.type !== 'button' || !table || (isDisabled !== undefined && isDisabled !== false && !needed)) return null;
  return (
    <Checkbox
      label={
        <>
          Only while a row of <bdi>{table.title}</bdi> is chosen
        </>
      }
      checked={needed !== undefined}
      onChange={({ currentTarget: { checked } }) =>
        edit(withDisabled(widgetKey, checked ? noneChosen(table.name) : undefined))
      }
    />
  );
}
