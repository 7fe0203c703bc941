/** A MetricValueList: the fields that tests read. */
export interface Values {
  kind: string;
  apiVersion: string;
  items: { describedObject: { kind: string; name: string }; value: string; timestamp: string; windowSeconds: number }[];
}

/** An object, of which tests read the conditions. */
export interface Conditions {
  status?: { conditions?: { type: string; status: string; reason: string; message: string }[] };
}
