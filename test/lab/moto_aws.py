# SPDX-License-Identifier: Apache-2.0
"""moto as a process of its own, with the lab's images. Call cloud_env.enter() before."""

import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

sys.path[0] = str(pathlib.Path(__file__).parents[2])

HERE = os.path.dirname(os.path.abspath(__file__))

IMAGES = os.path.join(HERE, "images.json")


class MotoAws:
    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.endpoint = self.process.stdout.readline().strip()
        if not self.endpoint.startswith("http://"):
            raise RuntimeError("moto did not start")
        return self

    def __exit__(self, *_):
        self.process.stdin.close()  # it ends with us, whatever becomes of us
        self.process.wait()
        self.process.stdout.close()


def images():
    with open(IMAGES, encoding="utf-8") as source:
        return json.load(source)


def as_moto_reads_them(folder):
    """A file of the images, in the form of moto's MOTO_AMIS_PATH."""
    path = os.path.join(folder, "images.json")
    common = {
        "state": "available",
        "public": True,
        "image_type": "machine",
        "hypervisor": "xen",
        "virtualization_type": "hvm",
        "root_device_type": "ebs",
        "root_device_name": "/dev/xvda",
        "sriov": "simple",
    }
    listed = [{**common, "image_location": "amazon/" + image["name"], **image} for image in images()]
    for each in listed:
        del each["parameters"]
    with open(path, "w", encoding="utf-8") as out:
        json.dump(listed, out)
    return path


def publish_parameters():
    """moto's public parameters name images that it does not have. Ours name ours."""
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.ssm.models import Parameter, ssm_backends

    ssm = ssm_backends[DEFAULT_ACCOUNT_ID]
    for region in ssm.regions:
        kept = ssm[region]._parameters
        kept._check_loading_status("/aws/service/ami-amazon-linux-latest")
        for image in images():
            for name in image["parameters"]:
                kept[name] = [
                    Parameter(
                        account_id=DEFAULT_ACCOUNT_ID,
                        name=name,
                        value=image["ami_id"],
                        parameter_type="String",
                        description=None,
                        allowed_pattern=None,
                        keyid=None,
                        last_modified_date=1762300800.0,
                        version=1,
                        data_type="text",
                    )
                ]


def open_default_vpcs():
    """An account's default VPC has a way out, which moto leaves out. In the regions that tests use."""
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.ec2.models import ec2_backends

    for name in ("us-east-1", "eu-west-1", "eu-west-2", "ap-south-1"):
        region = ec2_backends[DEFAULT_ACCOUNT_ID][name]
        vpc = region.get_default_vpc()
        gateway = region.create_internet_gateway()
        region.attach_internet_gateway(gateway.id, vpc.id)
        (table,) = region.describe_route_tables(filters={"vpc-id": [vpc.id]})
        region.create_route(table.id, "0.0.0.0/0", gateway_id=gateway.id)


def serve():
    with tempfile.TemporaryDirectory(prefix="stoker-lab-moto-") as folder:
        os.environ["MOTO_AMIS_PATH"] = as_moto_reads_them(folder)
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import WSGIRequestHandler, make_server

        from test.moto_s3 import OneAtATime

        publish_parameters()
        open_default_vpcs()
        import moto.ec2.models  # noqa: F401  # it reads the images now
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    WSGIRequestHandler.protocol_version = "HTTP/1.1"  # connections stay open
    app = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    serve()
