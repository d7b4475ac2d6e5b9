"""What a function that transforms records for Firehose sees of a Kinesis stream, as AWS's
documentation has its event and its result. Records of the KPL are taken apart by AWS's own
library, which knows Firehose's form of them. stdin: the event. It prints what Firehose then
has."""
import base64
import json
import sys

from aws_kinesis_agg.deaggregator import iter_deaggregate_records


def lambda_handler(event, context):
    output = []
    for n, record in enumerate(iter_deaggregate_records(event["records"])):
        text = base64.b64decode(record["kinesis"]["data"]).decode("utf-8")
        if json.loads(text)["event"]["type"] != "track":
            raise ValueError("no event in " + text)
        output.append({"recordId": str(n), "result": "Ok", "data": base64.b64encode(text.encode("utf-8")).decode("ascii")})
    return {"records": output}


for record in lambda_handler(json.load(sys.stdin), None)["records"]:
    sys.stdout.buffer.write(base64.b64decode(record["data"]))
