import { functionTable } from '../../promql/index.ts';

const set = (names: string, isOn: boolean): Record<string, boolean> =>
  Object.fromEntries(names.split(' ').map((name) => [name, isOn]));

/**
 * `/api/v1/features` in Prometheus' form: category → feature → whether this server has it. Categories of what belongs
 * to the agents or to other programs (scraping, storage, rules) are left out.
 */
export const features: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  api: {
    ...set('exclude_alerts label_values_match query_stats query_warnings time_range_labels time_range_series', true),
    ...set('admin lifecycle openapi_3.1 openapi_3.2 otlp_write_receiver remote_write_receiver search', false),
  },
  promql: {
    ...set('at_modifier bool by duration_expr group_left group_right ignoring negative_offset offset on', true),
    ...set('per_query_lookback_delta per_step_stats subqueries without', true),
    ...set('anchored delayed_name_removal fill fill_left fill_right smoothed type_and_unit_labels', false),
  },
  promql_functions: set([...functionTable.keys()].join(' '), true),
  promql_operators: {
    ...set('!= !~ % * + - / < </ <= == =~ > >/ >= @ ^ and atan2 or unless', true),
    ...set('avg bottomk count count_values group limit_ratio limitk max min quantile stddev stdvar sum topk', true),
  },
};
