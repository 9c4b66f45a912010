import { errorInPlaceOf } from '../client/error-in-place.ts';
import './templates.css';
import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { templatesRead } from '../client/templates.ts';
import { kindsRead } from '../client/workflows.ts';
import { Problem } from '../ui/problem.tsx';
import { TemplateCard } from './card.tsx';

interface Props {
  tenantID: string;
  level: 'h2' | 'h3';
  /** The names of those to show; default: all. */
  only?: readonly string[];
}

/** Templates with their pictures, those of a group beside each other. */
export function Gallery({ tenantID, level, only }: Props) {
  const templates = useQuery(templatesRead);
  const kinds = useQuery(kindsRead(tenantID));
  const error = errorInPlaceOf(templates, kinds);
  if (error)
    return (
      <Problem
        error={error}
        onRetry={() => {
          void templates.refetch();
          void kinds.refetch();
        }}
      />
    );
  if (!templates.data || !kinds.data) return <Skeleton h={280} />;
  const shown = only ? only.flatMap((name) => templates.data.find((one) => one.name === name) ?? []) : templates.data;
  return (
    <ul className="templates">
      {shown.map((template) => (
        <TemplateCard key={template.name} {...{ tenantID, template, level }} kinds={kinds.data} />
      ))}
    </ul>
  );
}
