import { Skeleton, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { errorInPlaceOf } from '../../../client/error-in-place.ts';
import { foldersRead, moveToFolder, refreshFolders } from '../../../client/folders.ts';
import { useMay } from '../../../client/may.ts';
import { useAuthorNames } from '../../../client/members.ts';
import { storedPageRead } from '../../../client/page-versions.ts';
import { useTenantID } from '../../../ui/asset-title.tsx';
import { FolderSelect } from '../../../ui/folder-select.tsx';
import { Problem } from '../../../ui/problem.tsx';
import { setPage } from '../../edits.ts';
import { sourcesOf } from '../config.ts';
import type { PanelProps } from '../panel.ts';
import { Viewers } from '../preview/viewers.tsx';
import { Sharing } from '../sharing/sharing.tsx';
import { whoReads } from '../sharing/who-reads.ts';
import { ExportPage } from './export-page.tsx';

/** Settings of the page as a whole: its title, its folder, who can open it, and what they can do. */
export function PagePanel(props: PanelProps) {
  const { document, edit } = props;
  const { title, description = '', kind, id } = document;
  const tenantID = useTenantID();
  const read = useQuery(storedPageRead({ tenantID, kind, id }));
  const error = errorInPlaceOf(read);
  const authorOf = useAuthorNames(tenantID);
  const stored = read.data;
  return (
    <Stack gap="md">
      <Text component="h2" fw={600}>
        {kind === 'app-page' ? 'Page' : 'Dashboard'}
      </Text>
      <TextInput
        label="Title"
        required
        maxLength={255}
        value={title}
        onChange={({ currentTarget: { value } }) => edit(setPage({ title: value }), 'title of the page')}
      />
      <Textarea
        label="Description"
        description="Shown in the list of pages"
        autosize
        minRows={2}
        maxRows={6}
        value={description}
        onChange={({ currentTarget: { value } }) => edit(setPage({ description: value }), 'description of the page')}
      />
      {error && <Problem error={error} onRetry={() => void read.refetch()} />}
      {!stored && !error && <Skeleton h={80} />}
      {stored && <Folder {...{ tenantID, kind, id }} folderID={stored.folderID} />}
      {stored && (
        <section aria-label="Who sees what">
          <Text component="h3" size="sm" fw={600}>
            Who sees what
          </Text>
          <Text size="sm" mt={4}>
            {whoReads(document.kind, sourcesOf(document.config), authorOf(stored.creatorID, stored.createdByApiKeyID))}
          </Text>
        </section>
      )}
      <Sharing document={document} />
      <Viewers {...props} />
      {kind === 'app-page' && <ExportPage {...{ tenantID, id, title }} />}
    </Stack>
  );
}

interface FolderProps {
  tenantID: string;
  kind: 'app-page' | 'dashboard';
  id: string;
  folderID: string | null;
}

/** Moved at once, and not with the page. */
function Folder({ tenantID, kind, id, folderID }: FolderProps) {
  const may = useMay();
  const queries = useQueryClient();
  const entityType = kind === 'app-page' ? 'appPage' : 'dashboard';
  const { data: folders = [] } = useQuery({ ...foldersRead(tenantID, entityType), enabled: may('folder.list') });
  const move = useMutation({
    mutationFn: (target: string | null) => moveToFolder(tenantID, { entityType, entityIDs: [id], folderID: target }),
    onSuccess: async () => {
      await refreshFolders(queries, tenantID);
      await queries.invalidateQueries({ queryKey: ['page-stored', tenantID] });
    },
  });
  if (folders.length === 0) return null;
  return (
    <>
      <FolderSelect
        label="Folder"
        none="None"
        clear="Out of the folder"
        folders={folders}
        value={folderID}
        onChange={(next) => move.mutate(next)}
      />
      {move.error && <Problem error={move.error} />}
    </>
  );
}
