import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { Builder } from '../builder/builder.tsx';
import { appPageOf } from '../builder/document.ts';
import { appPageContentRead } from '../client/app-pages.ts';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';

/** The builder of an app page. */
export function AppPageEditPage() {
  const { tenantID, appPageID } = useParams({ from: '/shell/t/$tenantID/pages/$appPageID/edit' });
  const read = useQuery(appPageContentRead({ tenantID, appPageID }));
  const stored = useMemo(() => read.data && appPageOf(read.data), [read.data]);
  // Another number makes a builder that knows nothing of the one before.
  const [reading, setReading] = useState(0);
  const error = errorInPlaceOf(read);
  if (error)
    return (
      <>
        <PageTitle title="Edit a page" />
        <Problem error={error} onRetry={() => void read.refetch()} />
      </>
    );
  if (!stored) return <Skeleton h={420} />;
  const reload = async () => {
    await read.refetch();
    setReading((before) => before + 1);
  };
  return <Builder key={`${appPageID} ${reading}`} {...{ tenantID, stored }} onReload={reload} />;
}
