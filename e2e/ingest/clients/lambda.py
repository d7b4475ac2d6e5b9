"""A Lambda handler on a Kinesis stream in Python, as AWS's documentation has it. Records of
the KPL are taken apart by AWS's own library. stdin: the event that Lambda calls it with."""
import base64
import json
import sys

from aws_kinesis_agg.deaggregator import iter_deaggregate_records


def lambda_handler(event, context):
    for record in iter_deaggregate_records(event["Records"]):
        text = base64.b64decode(record["kinesis"]["data"]).decode("utf-8")
        if json.loads(text)["event"]["type"] != "track":
            raise ValueError("no event in " + text)
        print(record["kinesis"]["partitionKey"], text.strip())


sys.stdout.reconfigure(encoding="utf-8")
lambda_handler(json.load(sys.stdin), None)
