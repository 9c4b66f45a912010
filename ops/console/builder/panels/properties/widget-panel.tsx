import '@mantine/core/styles/Tabs.css';
import { Skeleton, Stack, Tabs, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { errorInPlaceOf } from '../../../client/error-in-place.ts';
import { widgetTypesRead } from '../../../client/widget-types.ts';
import { useTenantID } from '../../../ui/asset-title.tsx';
import { Problem } from '../../../ui/problem.tsx';
import { nameOf, setWidget } from '../../edits.ts';
import { countActions } from '../events/actions-of.ts';
import { EventsForm } from '../events/events-form.tsx';
import type { WidgetPanelProps } from '../panel.ts';
import { PageValues } from '../values/values.tsx';
import { PropertyForm } from './property-form.tsx';
import { WidgetData } from './widget-data.tsx';

/** A chosen widget: what it shows, and what happens with it. */
export function WidgetPanel(props: WidgetPanelProps) {
  const { document, widgetKey, edit } = props;
  const read = useQuery(widgetTypesRead(useTenantID()));
  const error = errorInPlaceOf(read);
  const widget = document.widgets[widgetKey];
  if (!widget)
    return <Text size="sm">This page names a widget that it does not have. Take it away, or add another one.</Text>;
  if (error) return <Problem error={error} onRetry={() => void read.refetch()} />;
  if (!read.data) return <Skeleton h={240} />;
  const type = Object.hasOwn(read.data, widget.type) ? read.data[widget.type] : undefined;
  const count = countActions(widget.config);
  return (
    <Stack gap="sm">
      <div>
        <Text component="h2" fw={600}>
          <bdi>{widget.title}</bdi>
        </Text>
        <Text size="xs" c="dimmed">
          {type?.label ?? `A type that this server does not know: ${widget.type}`} · in expressions{' '}
          <code>widgets.{nameOf(document, widgetKey)}</code>
        </Text>
      </div>
      <Tabs key={widgetKey} defaultValue="properties" keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="properties">Properties</Tabs.Tab>
          <Tabs.Tab value="events">Events{count > 0 && ` (${count})`}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="properties" pt="sm">
          <Stack gap="sm">
            <TextInput
              label="Title"
              description="Its heading, and its name in lists"
              required
              maxLength={255}
              value={widget.title}
              onChange={({ currentTarget: { value } }) =>
                edit(setWidget(widgetKey, { title: value }), `title of ${widgetKey}`)
              }
            />
            <PageValues document={document} widgetType={widget.type}>
              {type && <PropertyForm key={widgetKey} {...props} type={type} />}
            </PageValues>
            {type && <WidgetData {...props} type={type} />}
          </Stack>
        </Tabs.Panel>
        <Tabs.Panel value="events" pt="sm">
          <EventsForm {...props} names={type?.events ?? []} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
