import { Select } from '@mantine/core';
import { nodesBelow } from '../page/layout/identified.ts';
import { listIn } from '../page/state/page-content.ts';
import type { PageState } from '../page/state/page-state.ts';
import { useExposed } from '../page/widgets/page-context.ts';
import { isObject } from '../ui/is-object.ts';
import type { Edit, PageDocument } from './document.ts';
import { partOf, setPart } from './parts.ts';

/** The tabs of a widget, as a field offers them. */
function tabsOf(document: PageDocument, widgetKey: unknown): { value: string; label: string }[] {
  const widget = typeof widgetKey === 'string' ? document.widgets[widgetKey] : undefined;
  if (widget?.type !== 'tabs' || !isObject(widget.config.properties)) return [];
  const seen = new Set<unknown>();
  return listIn(widget.config.properties.tabs).flatMap(({ key, label }) => {
    if (typeof key !== 'string' || seen.has(key)) return [];
    seen.add(key);
    return [{ value: key, label: typeof label === 'string' ? label : key }];
  });
}

/** The document in which a part that was added below tabs is shown in that of the part before it, else in the one that is open. */
export function inOpenTab(document: PageDocument, id: string, page: PageState | undefined): PageDocument {
  const { parent, position } = partOf(document, id) ?? {};
  const tabs = tabsOf(document, parent?.widgetKey);
  if (tabs.length === 0 || !parent || !position) return document;
  const before = nodesBelow(parent)[position.index - 1]?.tab;
  const open = typeof parent.widgetKey === 'string' ? page?.exposed(parent.widgetKey).get().activeTab : undefined;
  const tab = [before, open].find((one) => tabs.some(({ value }) => value === one));
  return tab === undefined ? document : setPart(id, { tab })(document);
}

interface Props {
  document: PageDocument;
  id: string;
  edit: (edit: Edit, what?: string) => void;
  page: PageState;
}

/** For a widget with tabs, which of them is open on the canvas; for a part below one, in which of them it is shown. */
export function TabsOfPart({ document, id, edit, page }: Props) {
  const part = partOf(document, id);
  const own = tabsOf(document, part?.widgetKey);
  const around = tabsOf(document, part?.parent?.widgetKey);
  return (
    <>
      {own.length > 0 && part?.widgetKey !== undefined && <OpenTab page={page} widgetKey={part.widgetKey} tabs={own} />}
      {around.length > 0 && part?.node && (
        <Select
          size="xs"
          w={140}
          aria-label="Shown in tab"
          allowDeselect={false}
          data={[
            { value: ALL, label: 'In all tabs' },
            ...around.map(({ value, label }) => ({ value, label: `In “${label}”` })),
          ]}
          value={typeof part.node.tab === 'string' ? part.node.tab : ALL}
          onChange={(tab) => edit(setPart(part.id, { tab: tab === ALL ? undefined : (tab ?? undefined) }))}
        />
      )}
    </>
  );
}

/** No key of a tab that a person would give. */
const ALL = ' all';

function OpenTab({ page, widgetKey, tabs }: { page: PageState; widgetKey: string; tabs: ReturnType<typeof tabsOf> }) {
  const { activeTab } = useExposed(page, widgetKey);
  return (
    <Select
      size="xs"
      w={140}
      aria-label="Tab that is open here"
      allowDeselect={false}
      data={tabs.map(({ value, label }) => ({ value, label: `Shows “${label}”` }))}
      value={typeof activeTab === 'string' ? activeTab : null}
      onChange={(tab) => tab && page.enter(widgetKey, { activeTab: tab })}
    />
  );
}
