import { Button, FileButton, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useMay } from '../client/may.ts';
import { type DatasourceFile, deleteFile, filesRead, uploadFile } from '../client/sources.ts';
import { bytesText } from '../ui/bytes.ts';
import { Confirm } from '../ui/confirm.tsx';
import { isObject } from '../ui/is-object.ts';
import { Problem } from '../ui/problem.tsx';
import { propertiesOf, type Schema } from '../ui/schema-shape.ts';
import { type Column, Table } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';

interface Props {
  tenantID: string;
  onUse: (file: DatasourceFile) => void;
}

/** The uploaded files of the tenant, of which the datasource reads one or several. A new one is used at once. */
export function Files({ tenantID, onUse }: Props) {
  const may = useMay();
  const queries = useQueryClient();
  const { data: files, error, refetch } = useQuery({ ...filesRead(tenantID), enabled: may('datasource.list') });
  const [doomed, setDoomed] = useState<DatasourceFile>();
  const refresh = () => queries.invalidateQueries({ queryKey: ['datasource-files', tenantID] });
  const upload = useMutation({
    mutationFn: (file: File) => uploadFile(tenantID, file),
    async onSuccess(file) {
      onUse(file);
      await refresh();
    },
  });
  const columns: Column<DatasourceFile>[] = [
    { head: 'File', cell: ({ fileName }) => <bdi>{fileName}</bdi> },
    { head: 'Size', cell: ({ fileSize }) => bytesText(fileSize), isWide: true },
    { head: 'Uploaded', cell: ({ createdAt }) => <Ago at={createdAt} />, isWide: true },
    {
      head: 'Actions',
      isPinned: true,
      cell: (file) => (
        <Group gap={4}>
          <Button size="compact-xs" variant="default" aria-label={`Use ${file.fileName}`} onClick={() => onUse(file)}>
            Use
          </Button>
          {may('datasource.delete') && (
            <Button
              size="compact-xs"
              variant="default"
              aria-label={`Delete ${file.fileName}`}
              onClick={() => setDoomed(file)}
            >
              Delete
            </Button>
          )}
        </Group>
      ),
    },
  ];
  return (
    <Stack gap="xs" component="section" aria-label="Uploaded files">
      <Text size="sm" fw={600}>
        Uploaded files
      </Text>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {may('datasource.list') && !files && !error && <Skeleton h={60} />}
      {files?.length === 0 && <Text size="sm">None yet.</Text>}
      {files && files.length > 0 && (
        <div className="scroller">
          <Table caption="Uploaded files" columns={columns} rows={files} idOf={({ fileID }) => fileID} />
        </div>
      )}
      {upload.error && <Problem error={upload.error} />}
      {may('datasource.create') && (
        <div>
          <FileButton onChange={(file) => file && upload.mutate(file)}>
            {(button) => (
              <Button {...button} variant="default" loading={upload.isPending}>
                Upload a file
              </Button>
            )}
          </FileButton>
        </div>
      )}
      {doomed && (
        <Confirm
          title="Delete the file"
          question={`“${doomed.fileName}” is deleted. A file that datasources use is not.`}
          verb="Delete"
          onConfirm={async () => {
            await deleteFile({ tenantID, fileID: doomed.fileID });
            await refresh();
          }}
          onClose={() => setDoomed(undefined)}
        />
      )}
    </Stack>
  );
}

type Options = Readonly<Record<string, unknown>>;

/** The path in the options of a new datasource, which names no file. */
const NO_FILE = /^tenant-files\/[0-]+$/;

/** The options with the file: in place of the one before, or beside the others where there is a list of them. */
export function withFile(schema: Schema, options: Options, file: DatasourceFile): Options {
  const { filePath, fileName, fileSize, fileType } = file;
  const fileInfo = { filePath, fileName, fileSize, fileType };
  if (!propertiesOf(schema).files) return { ...options, fileInfo };
  const before = Array.isArray(options.files) ? options.files.filter((one) => !namesNoFile(one)) : [];
  const names = new Set(before.map((one) => isObject(one) && one.name));
  return { ...options, files: [...before, { name: tableName(fileName, names), fileInfo }] };
}

function namesNoFile(one: unknown): boolean {
  return isObject(one) && isObject(one.fileInfo) && NO_FILE.test(String(one.fileInfo.filePath));
}

/** A word that SQL can name, and no other table has. */
function tableName(fileName: string, taken: ReadonlySet<unknown>): string {
  const word = fileName
    .replace(/\.[^.]*$/, '')
    .replace(/[^\p{L}\p{N}_]+/gu, '_')
    .replace(/^(?![\p{L}_])/u, '_')
    .slice(0, 55);
  let name = word;
  for (let number = 2; taken.has(name); number += 1) name = `${word}_${number}`;
  return name;
}
