import { Button, Group, Menu, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { isObject } from '../../../ui/is-object.ts';
import { setWidgetConfig } from '../../edits.ts';
import type { WidgetPanelProps } from '../panel.ts';
import { PageValues } from '../values/values.tsx';
import { ActionForm } from './action-form.tsx';
import { type ActionType, actionTypes, actionWords } from './action-words.ts';
import {
  type Action,
  actionsOf,
  hintOfEvent,
  shapeOfEvent,
  shownEvents,
  withActions,
  wordsOfEvent,
} from './actions-of.ts';
import { offWithoutRow } from './needs-row.ts';
import { NeedsRow } from './needs-row-field.tsx';

/** Events of a widget, each with the list of actions that are done then, one after the other. */
export function EventsForm({ names, ...props }: WidgetPanelProps & { names: readonly string[] }) {
  const { document, widgetKey } = props;
  const widget = document.widgets[widgetKey];
  if (!widget) return null;
  return (
    <Stack gap="md">
      <Text size="xs" c="dimmed">
        Actions of an event are done one after the other. The first that fails is told, and those behind it are left.
      </Text>
      <NeedsRow {...props} />
      {shownEvents(widget.type, names, widget.config).map((name) => (
        <EventActions key={name} {...props} name={name} />
      ))}
    </Stack>
  );
}

function EventActions({ name, ...props }: WidgetPanelProps & { name: string }) {
  const { document, widgetKey, edit } = props;
  const config = document.widgets[widgetKey]?.config ?? {};
  const actions = actionsOf(config, name);
  // Fields keep what is typed, so they begin anew where actions have moved.
  const [moves, setMoves] = useState(0);
  const [added, setAdded] = useState<number>();
  const put = (next: readonly unknown[]) =>
    edit((old) => {
      const events = withActions(old.widgets[widgetKey]?.config ?? {}, name, next);
      return offWithoutRow(old, setWidgetConfig(widgetKey, events)(old), widgetKey);
    }, `${name} of ${widgetKey}`);
  const move = (next: readonly unknown[]) => {
    setMoves(moves + 1);
    setAdded(undefined);
    put(next);
  };
  const words = wordsOfEvent(name);
  return (
    <section aria-label={words}>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Text component="h3" size="sm" fw={600}>
          {words}
        </Text>
        <AddAction
          event={words}
          onAdd={(type) => {
            setAdded(actions.length);
            put([...actions, { type }]);
          }}
        />
      </Group>
      {actions.length === 0 && (
        <Text size="xs" c="dimmed">
          {hintOfEvent(name)}
        </Text>
      )}
      <ol className="actions" aria-label={`Actions: ${words}`}>
        {actions.map((action, at) => (
          <OneAction
            // biome-ignore lint/suspicious/noArrayIndexKey: actions have no key but their place
            key={`${moves} ${at}`}
            {...props}
            {...{ name, at, actions }}
            action={isObject(action) ? action : {}}
            isOpen={at === added}
            onChange={(next) => put(actions.with(at, next))}
            onMove={(by) => move(actions.with(at, actions[at + by]).with(at + by, action))}
            onRemove={() => move(actions.toSpliced(at, 1))}
          />
        ))}
      </ol>
    </section>
  );
}

interface ActionProps extends WidgetPanelProps {
  name: string;
  action: Action;
  actions: readonly unknown[];
  at: number;
  isOpen: boolean;
  onChange: (action: Action) => void;
  onMove: (by: 1 | -1) => void;
  onRemove: () => void;
}

function OneAction({ name, action, actions, at, isOpen, onChange, onMove, onRemove, ...props }: ActionProps) {
  const { document, edit } = props;
  const words = actionWords(action, document);
  return (
    <li>
      <details className="group" open={isOpen}>
        <summary>
          <bdi>{words}</bdi>
        </summary>
        <Stack gap="sm">
          <PageValues document={document} event={shapeOfEvent(name, actions.slice(0, at))}>
            <ActionForm {...{ document, edit, action, onChange }} />
          </PageValues>
          <Group gap={4}>
            <Button size="compact-xs" variant="default" disabled={at === 0} onClick={() => onMove(-1)}>
              Earlier
            </Button>
            <Button size="compact-xs" variant="default" disabled={at === actions.length - 1} onClick={() => onMove(1)}>
              Later
            </Button>
            <Button size="compact-xs" variant="default" onClick={onRemove}>
              Remove
            </Button>
          </Group>
        </Stack>
      </details>
    </li>
  );
}

function AddAction({ event, onAdd }: { event: string; onAdd: (type: ActionType) => void }) {
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <Button size="compact-xs" variant="default" aria-label={`Add an action: ${event}`}>
          Add
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah="60vh" style={{ overflowY: 'auto' }}>
        {Object.entries(actionTypes).map(([type, { label, hint }]) => (
          <Menu.Item key={type} onClick={() => onAdd(type as ActionType)}>
            {label}
            {hint && (
              <Text component="span" display="block" size="xs" c="dimmed">
                {hint}
              </Text>
            )}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
