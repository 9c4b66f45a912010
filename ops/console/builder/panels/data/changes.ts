import { useQueries } from '@tanstack/react-query';
import { referenceRead } from '../../../client/references.ts';
import { useTenantID } from '../../../ui/asset-title.tsx';
import { isID } from '../../../ui/picked.ts';
import type { PageDocument } from '../../document.ts';
import { boundBy, namesOfWidgets, sourcesOf, variablesOf } from '../config.ts';
import { isChanging, stateNameOf } from './read-again.ts';
import { pickedTypeOf } from './source-types.ts';

interface Choice {
  value: string;
  label: string;
}

/** Workflows and queries of a page that may change something, whose states a query can follow. */
export function useStates({ config }: PageDocument, own: string): Choice[] {
  const tenantID = useTenantID();
  const sources = sourcesOf(config).filter((one) => isChanging(one) && one.alias !== own);
  const read = useQueries({
    queries: sources.map((one) => {
      const id = boundBy(one) ?? '';
      return { ...referenceRead(tenantID, pickedTypeOf[one.type], id), enabled: isID(id) };
    }),
  });
  const titles = read.map(({ data }, at) => data?.title ?? sources[at]?.alias ?? '');
  return sources.flatMap((one, at) => {
    const value = stateNameOf(one);
    const title = titles[at] ?? one.alias;
    const isOnly = titles.filter((other) => other === title).length === 1;
    return value === undefined ? [] : [{ value, label: `${isOnly ? title : `${title} (${one.alias})`}: its state` }];
  });
}

/** Names whose change can make a query run again: what may change something, variables, what was entered into widgets, and those that are chosen already. */
export function changesOf(document: PageDocument, states: readonly Choice[], chosen: readonly string[]): Choice[] {
  const variables = variablesOf(document.config).map(({ key }) => ({
    value: `variables.${key}`,
    label: `Variable ${key}`,
  }));
  const widgets = [...namesOfWidgets(document)].flatMap(([key, name]) => {
    const own = document.widgets[key];
    const part = own && ENTERED[own.type];
    return part === undefined ? [] : [{ value: `widgets.${name}.${part}`, label: `${own?.title}: ${partWords[part]}` }];
  });
  const known = [...states, ...variables, ...widgets];
  const others = chosen.filter((name) => known.every(({ value }) => value !== name));
  return [...known, ...others.map((name) => ({ value: name, label: name }))];
}

/** The value of a widget that people change. */
const ENTERED: Readonly<Record<string, keyof typeof partWords>> = {
  ...Object.fromEntries(
    ['text-input', 'search-input', 'select', 'multi-select', 'radio-group', 'checkbox', 'switch', 'slider'].map(
      (type) => [type, 'value' as const],
    ),
  ),
  ...{
    'date-picker': 'value',
    'date-range-picker': 'value',
    table: 'selectedRow',
    list: 'selectedItem',
    tabs: 'activeTab',
  },
};

const partWords = {
  value: 'what is entered',
  selectedRow: 'the chosen row',
  selectedItem: 'the chosen entry',
  activeTab: 'the open tab',
} as const;
