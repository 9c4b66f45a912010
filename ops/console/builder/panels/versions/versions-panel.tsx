import { Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { errorInPlaceOf } from '../../../client/error-in-place.ts';
import { useMay } from '../../../client/may.ts';
import { useAuthorNames } from '../../../client/members.ts';
import type { PageIDs, SavedVersion } from '../../../client/page-version.ts';
import { pageVersionsRead, restorePageVersion } from '../../../client/page-versions.ts';
import { useTenantID } from '../../../ui/asset-title.tsx';
import { Problem } from '../../../ui/problem.tsx';
import { MoreButton } from '../../../ui/table.tsx';
import { Ago } from '../../../ui/time.tsx';
import type { PageDocument } from '../../document.ts';

const Changes = lazy(() => import('./changes.tsx').then(({ Changes: one }) => ({ default: one })));

interface Props {
  document: PageDocument;
  isDirty: boolean;
  /** Reads the page again, once a version was restored. */
  onReload: () => Promise<unknown>;
}

/** The versions of a page: who has saved each and when, what it changed, and the way back to it. */
export function VersionsPanel({ document, isDirty, onReload }: Props) {
  const ids: PageIDs = { tenantID: useTenantID(), kind: document.kind, id: document.id };
  const read = useInfiniteQuery(pageVersionsRead(ids));
  const error = errorInPlaceOf(read);
  const versions = read.data?.pages.flatMap((page) => page.versions);
  const mayRestore = useMay(`${document.kind === 'app-page' ? 'appPage' : 'dashboard'}:${document.id}`);
  const restore = useMutation({
    async mutationFn(versionID: string) {
      await restorePageVersion(ids, versionID);
      await onReload();
      await read.refetch();
    },
  });
  return (
    <Stack gap="sm">
      <Text component="h2" fw={600}>
        Versions
      </Text>
      <Text size="xs" c="dimmed">
        Each time the page is saved it gets a version: its layout, its data and its variables. Widgets are as they are
        now in all of them.
      </Text>
      {error && <Problem error={error} onRetry={() => void read.refetch()} />}
      {restore.error && <Problem error={restore.error} />}
      {isDirty && <Text size="sm">Save the changes first: going back to a version would drop them.</Text>}
      {!versions && !error && <Skeleton h={120} />}
      {versions && (
        <ul className="lines prose" aria-label="Versions, newest first">
          {versions.map((version, at) => (
            <li key={version.id}>
              <OneVersion
                {...{ ids, document, version }}
                before={versions[at + 1]}
                canRestore={at > 0 && mayRestore(document.kind === 'app-page' ? 'appPage.update' : 'dashboard.update')}
                isDisabled={isDirty || restore.isPending}
                onRestore={() => restore.mutate(version.id)}
              />
            </li>
          ))}
        </ul>
      )}
      <MoreButton of={read} />
    </Stack>
  );
}

interface VersionProps {
  ids: PageIDs;
  document: PageDocument;
  version: SavedVersion;
  before: SavedVersion | undefined;
  canRestore: boolean;
  isDisabled: boolean;
  onRestore: () => void;
}

function OneVersion({ ids, document, version, before, canRestore, isDisabled, onRestore }: VersionProps) {
  const { number, note, createdAt, creatorID, createdByApiKeyID } = version;
  const authorOf = useAuthorNames(ids.tenantID);
  const [isShown, setShown] = useState(false);
  return (
    <Stack gap={4} py={4}>
      <Text size="sm">
        Version {number}, <Ago at={createdAt} /> by <bdi>{authorOf(creatorID, createdByApiKeyID)}</bdi>
      </Text>
      {note && (
        <Text size="xs">
          <bdi>{note}</bdi>
        </Text>
      )}
      <Group gap={4}>
        <Button size="compact-xs" variant="default" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
          What changed
        </Button>
        {canRestore && (
          <Button size="compact-xs" variant="default" disabled={isDisabled} onClick={onRestore}>
            Go back to it
          </Button>
        )}
      </Group>
      {isShown && (
        <Suspense fallback={<Skeleton h={40} />}>
          <Changes {...{ ids, document, version, before }} />
        </Suspense>
      )}
    </Stack>
  );
}
