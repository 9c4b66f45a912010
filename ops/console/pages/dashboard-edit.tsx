import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { Builder } from '../builder/builder.tsx';
import { dashboardOf } from '../builder/document.ts';
import { dashboardContentRead } from '../client/app-pages.ts';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';

/** The builder of a dashboard. */
export function DashboardEditPage() {
  const { tenantID, dashboardID } = useParams({ from: '/shell/t/$tenantID/pages/dashboards/$dashboardID/edit' });
  const read = useQuery(dashboardContentRead({ tenantID, dashboardID }));
  const stored = useMemo(() => read.data && dashboardOf(read.data), [read.data]);
  // Another number makes a builder that knows nothing of the one before.
  const [reading, setReading] = useState(0);
  const error = errorInPlaceOf(read);
  if (error)
    return (
      <>
        <PageTitle title="Edit a dashboard" />
        <Problem error={error} onRetry={() => void read.refetch()} />
      </>
    );
  if (!stored) return <Skeleton h={420} />;
  const reload = async () => {
    await read.refetch();
    setReading((before) => before + 1);
  };
  return <Builder key={`${dashboardID} ${reading}`} {...{ tenantID, stored }} onReload={reload} />;
}
