import { Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { versionRead } from '../client/reads.ts';
import { kindsRead, versionDiffRead, type WorkflowIDs } from '../client/workflows.ts';
import type { Kinds } from '../graph/kinds.ts';
import { Problem } from '../ui/problem.tsx';
import { ChangeList } from './change-list.tsx';
import { changesOf } from './version-changes.ts';

const noKinds: Kinds = {};

/** Differences between a version and the one before: by step, connection and option, from old to new. */
export function WhatChanged({ ids, versionID }: { ids: WorkflowIDs; versionID: string }) {
  const read = useQuery(versionDiffRead({ ...ids, versionID }));
  const diff = read.data;
  const after = useQuery(versionRead({ ...ids, versionID }));
  const { data: kinds = noKinds } = useQuery(kindsRead(ids.tenantID));
  const beforeID = diff?.before?.versionID;
  const before = useQuery({
    ...versionRead({ ...ids, versionID: beforeID ?? '' }),
    enabled: beforeID !== undefined,
  });
  const error = errorInPlaceOf(read, after, before);
  if (error) return <Problem error={error} />;
  if (!diff || !after.data || (beforeID !== undefined && !before.data)) return <Skeleton h={40} />;
  const changes = changesOf(diff, before.data, after.data, kinds);
  const against = diff.before ? `version ${diff.before.versionNumber}` : 'an empty graph';
  return (
    <Stack component="section" aria-label="What changed" gap="sm">
      <Text size="sm" fw={600} component="h3">
        Version {diff.after.versionNumber} against {against}
      </Text>
      {changes.length === 0 && <Text size="sm">Nothing.</Text>}
      <ChangeList changes={changes} />
    </Stack>
  );
}
