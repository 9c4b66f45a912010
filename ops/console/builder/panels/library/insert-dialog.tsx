import { Button, Group, Modal, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { errorInPlaceOf } from '../../../client/error-in-place.ts';
import { useMay } from '../../../client/may.ts';
import {
  installEntry,
  type LibraryEntry,
  libraryPreviewRead,
  libraryRead,
  readWidget,
} from '../../../client/widget-library.ts';
import { type WidgetTypes, widgetTypesRead } from '../../../client/widget-types.ts';
import { useTenantID } from '../../../ui/asset-title.tsx';
import { countOf } from '../../../ui/count.ts';
import { Picker } from '../../../ui/picker.tsx';
import { Problem } from '../../../ui/problem.tsx';
import type { WidgetDraft } from '../../document.ts';

interface Props {
  /** A widget that the tenant has, to be placed on the page. */
  onChoose: (widget: Omit<WidgetDraft, 'key'> & { id: string }, versionNumber: number) => void;
  onClose: () => void;
}

/** Widgets that are there already: those of the tenant, and those of the library, of which a copy is made. */
export function InsertDialog({ onChoose, onClose }: Props) {
  const tenantID = useTenantID();
  const { data: types = {} } = useQuery(widgetTypesRead(tenantID));
  const may = useMay();
  const queries = useQueryClient();
  const insert = useMutation({
    async mutationFn(chosen: { widgetID: string } | { libraryEntryID: string }) {
      const id = 'widgetID' in chosen ? chosen.widgetID : await installEntry({ tenantID, ...chosen });
      const {
        widgetTitle: title,
        widgetType: type,
        widgetConfig: config,
        refreshInterval,
        versionNumber,
      } = await readWidget({
        ...{ tenantID, widgetID: id },
      });
      onChoose({ id, title, type, config, refreshInterval }, versionNumber);
      await queries.invalidateQueries({ queryKey: ['widgets', tenantID] });
    },
    onSuccess: onClose,
  });
  return (
    <Modal opened onClose={onClose} title="Insert a widget that is there already" size="lg">
      <Stack gap="md">
        {insert.error && <Problem error={insert.error} />}
        {may('widget.list') && (
          <Picker
            types={['widget']}
            label="A widget of this tenant"
            description="It is the same on all pages that show it: a change here changes it there too"
            disabled={insert.isPending}
            value={undefined}
            onChange={(widgetID) => widgetID !== undefined && insert.mutate({ widgetID })}
          />
        )}
        {may('widgetLibrary.list') && (
          <Library
            {...{ tenantID, types }}
            isBusy={insert.isPending}
            onInstall={(libraryEntryID) => insert.mutate({ libraryEntryID })}
          />
        )}
      </Stack>
    </Modal>
  );
}

interface LibraryProps {
  tenantID: string;
  types: WidgetTypes;
  isBusy: boolean;
  onInstall: (libraryEntryID: string) => void;
}

function Library({ tenantID, types, isBusy, onInstall }: LibraryProps) {
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed.trim(), 250);
  const [shown, setShown] = useState<string>();
  const read = useQuery(libraryRead(tenantID, search));
  const error = errorInPlaceOf(read);
  return (
    <section aria-label="Widget library">
      <Text component="h3" size="sm" fw={600}>
        Widget library
      </Text>
      <Text size="xs" c="dimmed">
        Widgets that others on this server have published. A copy becomes a widget of this tenant; bind its data anew.
      </Text>
      <TextInput
        mt="xs"
        aria-label="Find in the library"
        placeholder="Find in the library"
        value={typed}
        onChange={({ currentTarget: { value } }) => setTyped(value)}
      />
      {error && <Problem error={error} onRetry={() => void read.refetch()} />}
      {!read.data && !error && <Skeleton h={80} mt="xs" />}
      {read.data?.length === 0 && (
        <Text size="sm" mt="xs">
          {search === '' ? 'Nothing was published yet.' : 'No title has this in it.'}
        </Text>
      )}
      <ul className="lines prose" aria-label="Widgets of the library">
        {read.data?.map((entry) => (
          <li key={entry.id}>
            <Entry
              {...{ tenantID, entry, isBusy, onInstall }}
              type={types[entry.widgetType]?.label ?? entry.widgetType}
              isShown={entry.libraryEntryID === shown}
              onShow={() => setShown(entry.libraryEntryID)}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

interface EntryProps extends Omit<LibraryProps, 'types'> {
  entry: LibraryEntry;
  type: string;
  isShown: boolean;
  onShow: () => void;
}

/** A widget of the library. Queries that it would lack here are told before the copy is made. */
function Entry({ tenantID, entry, type, isBusy, isShown, onShow, onInstall }: EntryProps) {
  const { libraryEntryID, widgetTitle, widgetDescription } = entry;
  const may = useMay();
  const read = useQuery({ ...libraryPreviewRead({ tenantID, libraryEntryID }), enabled: isShown });
  const lacking = read.data?.summary.missingDependencyCount ?? 0;
  return (
    <Stack gap={4} py={4}>
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm">
          <bdi>{widgetTitle}</bdi>{' '}
          <Text component="span" size="xs" c="dimmed">
            {type}
          </Text>
        </Text>
        {may('widgetLibrary.install') && !isShown && (
          <Button size="compact-xs" variant="default" aria-label={`Choose ${widgetTitle}`} onClick={onShow}>
            Choose
          </Button>
        )}
      </Group>
      {widgetDescription && (
        <Text size="xs">
          <bdi>{widgetDescription}</bdi>
        </Text>
      )}
      {isShown && read.error && <Problem error={read.error} />}
      {isShown && read.data && (
        <Group justify="space-between" wrap="nowrap">
          <Text size="xs">
            {lacking === 0
              ? 'All that it needs is here.'
              : `${countOf(lacking, 'query or workflow', 'queries and workflows')} that it names ${lacking === 1 ? 'is' : 'are'} not in this tenant: bind others to it afterwards.`}
          </Text>
          <Button size="compact-xs" loading={isBusy} onClick={() => onInstall(libraryEntryID)}>
            Insert a copy
          </Button>
        </Group>
      )}
    </Stack>
  );
}
