import { Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { errorInPlaceOf } from '../../../client/error-in-place.ts';
import type { PageIDs, SavedVersion } from '../../../client/page-version.ts';
import { pageVersionRead } from '../../../client/page-versions.ts';
import { ChangeList } from '../../../editor/change-list.tsx';
import { Problem } from '../../../ui/problem.tsx';
import type { PageDocument } from '../../document.ts';
import { pageChanges } from './page-changes.ts';

interface Props {
  ids: PageIDs;
  document: PageDocument;
  version: SavedVersion;
  before: SavedVersion | undefined;
}

/** The changes of a version of a page against the one before it. */
export function Changes({ ids, document, version, before }: Props) {
  const after = useQuery(pageVersionRead(ids, version.id));
  const old = useQuery({ ...pageVersionRead(ids, before?.id ?? ''), enabled: before !== undefined });
  const error = errorInPlaceOf(after, old);
  if (error) return <Problem error={error} />;
  if (!after.data || (before && !old.data)) return <Skeleton h={40} />;
  const titleOf = (key: string) => document.widgets[key]?.title ?? 'one that is no longer on the page';
  const changes = pageChanges(old.data, after.data, titleOf);
  return (
    <Stack gap="xs" component="section" aria-label={`What version ${version.number} changed`}>
      {changes.length === 0 && <Text size="sm">Nothing of the page: a widget of it may have been changed.</Text>}
      <ChangeList changes={changes} />
    </Stack>
  );
}
