import '@mantine/core/styles/Radio.css';
import { Radio, Select, Skeleton, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { dataQueryRead } from '../../client/queries-of-tenant.ts';
import { DialogForm } from '../../ui/form.tsx';
import { Picker } from '../../ui/picker.tsx';
import { Problem } from '../../ui/problem.tsx';
import type { CreatePage } from './create.ts';
import { isReading, pageOfQuery, type Shape, shapes } from './page-of-query.ts';
import { WhoSees } from './who-sees.tsx';

interface Props {
  tenantID: string;
  create: CreatePage;
  begin?: { id?: string } | undefined;
}

/** Chooses a query, when it is run, and how its result is shown. */
export function QueryStep({ tenantID, create, begin }: Props) {
  const [id, setID] = useState(begin?.id);
  const { data, error, refetch } = useQuery({
    ...dataQueryRead({ tenantID, dataQueryID: id ?? '' }),
    enabled: id !== undefined,
  });
  const [title, setTitle] = useState<string>();
  const [reads, setReads] = useState<boolean>();
  const [shape, setShape] = useState<Shape>('table');
  const query = data && { id: data.dataQueryID, title: data.dataQueryTitle, options: data.dataQueryOptions };
  const isRead = reads ?? (query ? isReading(query.options) : false);
  const shownTitle = title ?? query?.title ?? '';
  const save = {
    ...{ error: create.error, isPending: create.isPending },
    mutate() {
      if (!query) return;
      const named = shownTitle.trim() || query.title;
      create.mutate((newID) => pageOfQuery({ query, title: named, isReading: isRead, shape, newID }));
    },
  };
  return (
    <DialogForm verb="Create the page" save={save}>
      <Picker
        types={['dataQuery']}
        label="Query"
        required
        value={id}
        onChange={(next) => {
          setID(next);
          setTitle(undefined);
          setReads(undefined);
        }}
      />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {id !== undefined && !query && !error && <Skeleton h={160} />}
      {query && (
        <>
          <TextInput
            label="Title of the page"
            value={shownTitle}
            onChange={({ currentTarget: { value } }) => setTitle(value)}
          />
          <Radio.Group
            label="When the query is run"
            value={isRead ? 'reads' : 'asked'}
            onChange={(value) => setReads(value === 'reads')}
          >
            <Stack gap={6} mt={6}>
              <Radio value="reads" label="When the page opens, and when an input changes" />
              <Radio value="asked" label="When a button is pressed: for a query that changes something" />
            </Stack>
          </Radio.Group>
          <Select
            label="Its result is shown as"
            allowDeselect={false}
            data={Object.entries(shapes).map(([value, label]) => ({ value, label }))}
            value={shape}
            onChange={(next) => next && setShape(next as Shape)}
          />
          <WhoSees what="runs the query" />
        </>
      )}
    </DialogForm>
  );
}
