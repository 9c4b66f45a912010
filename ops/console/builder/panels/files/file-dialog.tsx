import { Button, FileButton, Group, Modal, Skeleton, Stack, Text } from '@mantine/core';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { readWidgetFile, uploadWidgetFile } from '../../../client/app-pages.ts';
import { errorInPlaceOf } from '../../../client/error-in-place.ts';
import { useMay } from '../../../client/may.ts';
import { type UploadedFile, uploadsKey, uploadsRead } from '../../../client/uploads.ts';
import { useTenantID } from '../../../ui/asset-title.tsx';
import { bytesText } from '../../../ui/bytes.ts';
import { Problem } from '../../../ui/problem.tsx';
import { MoreButton } from '../../../ui/table.tsx';
import { Ago } from '../../../ui/time.tsx';
import type { FileKind } from './kinds.ts';

interface Props {
  kind: FileKind;
  onChoose: (url: string) => void;
  onClose: () => void;
}

const accepted: Record<FileKind, string> = {
  image: 'image/png,image/jpeg,image/gif,image/webp',
  video: 'video/mp4,video/webm',
};

/** The files of this kind that were uploaded for widgets, newest first, and the way to upload another one. */
export function FileDialog({ kind, onChoose, onClose }: Props) {
  const tenantID = useTenantID();
  const queries = useQueryClient();
  const may = useMay();
  const read = useInfiniteQuery(uploadsRead(tenantID));
  const error = errorInPlaceOf(read);
  const files = read.data?.pages.flatMap((page) => page.files).filter(({ fileType }) => fileType.startsWith(kind));
  const upload = useMutation({
    mutationFn: (file: File) => uploadWidgetFile(tenantID, file),
    async onSuccess({ url }) {
      await queries.invalidateQueries({ queryKey: uploadsKey(tenantID) });
      onChoose(url);
    },
  });
  return (
    <Modal opened onClose={onClose} title={kind === 'image' ? 'Choose an image' : 'Choose a video'} size="lg">
      <Stack gap="sm">
        {may('widget.create') && (
          <Group>
            <FileButton accept={accepted[kind]} onChange={(file) => file && upload.mutate(file)}>
              {(props) => (
                <Button {...props} size="xs" loading={upload.isPending}>
                  Upload {kind === 'image' ? 'an image' : 'a video'}
                </Button>
              )}
            </FileButton>
            <Text size="xs">Up to 10 MB. People who may see a widget of this tenant can see the file.</Text>
          </Group>
        )}
        {upload.error && <Problem error={upload.error} />}
        {error && <Problem error={error} onRetry={() => void read.refetch()} />}
        {!files && !error && <Skeleton h={120} />}
        {files?.length === 0 && <Text size="sm">None was uploaded yet.</Text>}
        {files && files.length > 0 && (
          <ul className="file-list" aria-label="Uploaded files">
            {files.map((file) => (
              <li key={file.fileID}>
                <button type="button" className="file-choice" onClick={() => onChoose(file.url)}>
                  {kind === 'image' && <Picture {...{ tenantID, file }} />}
                  <bdi>{file.fileName}</bdi>
                  <span className="note">
                    {bytesText(file.fileSize)}, <Ago at={file.createdAt} />
                  </span>
                </button>
              </li>
            ))}
          </ul>
        )}
        <MoreButton of={read} />
      </Stack>
    </Modal>
  );
}

/** Its bytes need the caller's token, so that its address is one of this tab. */
function Picture({ tenantID, file: { filePath } }: { tenantID: string; file: UploadedFile }) {
  const { data } = useQuery({
    queryKey: ['widget-file', tenantID, filePath],
    queryFn: () => readWidgetFile(tenantID, filePath),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    if (!data) return;
    const made = URL.createObjectURL(data);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [data]);
  return address ? <img src={address} alt="" /> : <Skeleton h={80} />;
}
