import '@mantine/core/styles/Tabs.css';
import { Tabs } from '@mantine/core';
import { isObject } from '../../../ui/is-object.ts';
import { text, useExposed, usePage, type WidgetProps } from '../page-context.ts';

/** The tabs alone: what they show stands below them in the layout. */
export function TabsWidget({ widgetKey, title, properties }: WidgetProps) {
  const page = usePage();
  const { activeTab } = useExposed(page, widgetKey);
  const tabs = Array.isArray(properties.tabs) ? properties.tabs.filter(isObject) : [];
  return (
    <Tabs
      value={text(activeTab)}
      onChange={(key) => {
        page.enter(widgetKey, { activeTab: key });
        void page.fire(widgetKey, 'onChange', { value: key });
      }}
    >
      <Tabs.List aria-label={title}>
        {tabs.map(({ key, label }) => (
          <Tabs.Tab key={text(key)} value={text(key)}>
            <bdi>{text(label, text(key))}</bdi>
          </Tabs.Tab>
        ))}
      </Tabs.List>
    </Tabs>
  );
}
