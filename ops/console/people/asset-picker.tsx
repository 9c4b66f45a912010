import { MultiSelect } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type TitledType, titlesRead } from '../client/titles.ts';

interface Props {
  tenantID: string;
  type: TitledType;
  label: string;
  /** Ids. */
  value: string[];
  onChange: (ids: string[]) => void;
  isReadOnly: boolean;
}

/** Chooses single assets of a type by their titles. An asset that the caller may not see is shown by the end of its id. */
export function AssetPicker({ tenantID, type, label, value, onChange, isReadOnly }: Props) {
  const { data: titled = [], isPending, error } = useQuery(titlesRead(tenantID, type));
  const [isOpen, opened] = useDisclosure(false);
  const unknown = value.filter((id) => !titled.some((one) => one.id === id));
  const counts = Map.groupBy(titled, ({ title }) => title);
  const labelOf = ({ id, title }: { id: string; title: string }) =>
    (counts.get(title)?.length ?? 0) > 1 ? `${title} (${id.slice(-8)})` : title;
  return (
    <MultiSelect
      size="xs"
      mt={4}
      aria-label={label}
      placeholder={value.length === 0 ? 'Search by title' : ''}
      searchable
      hidePickedOptions
      disabled={isReadOnly}
      nothingFoundMessage={isPending ? 'Reading…' : 'There is none with this title'}
      data={[
        ...titled.map((one) => ({ value: one.id, label: labelOf(one) })),
        ...unknown.map((id) => ({ value: id, label: isPending ? '…' : `…${id.slice(-8)}` })),
      ]}
      value={value}
      error={error?.message ?? (!isReadOnly && value.length === 0 && 'Choose at least one')}
      dropdownOpened={isOpen}
      onDropdownOpen={opened.open}
      onDropdownClose={opened.close}
      onChange={(ids) => {
        // The list would cover what comes below.
        opened.close();
        onChange(ids);
      }}
    />
  );
}
